/**
 * The drivers of each store by the scheme of an address. Adding a driver means adding it to
 * STORE_DRIVERS.
 */

import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import type { Clock } from "../../context/clock.ts";
import { reasonAt } from "../../disk/disk-error.ts";
import { makePrivateFolder } from "../../disk/private-file.ts";
import { errorText } from "../../domain/error-text.ts";
import { StartError } from "../failure.ts";
import type { Log } from "../log.ts";
import { LOGS_APPLICATION_ID, LOGS_MIGRATIONS } from "../stores/logs/schema.ts";
import type { LogStore } from "../stores/logs/store.ts";
import { METADATA_APPLICATION_ID, METADATA_MIGRATIONS } from "../stores/metadata/schema.ts";
import { createSqliteMetadataStore } from "../stores/metadata/sqlite.ts";
import { inspectOutbox, outboxPlace } from "../stores/metadata/sqlite-outbox.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { METRICS_APPLICATION_ID, METRICS_MIGRATIONS } from "../stores/metrics/schema.ts";
import type { MetricStore } from "../stores/metrics/store.ts";
import { createDirectoryObjectStore } from "../stores/objects/directory.ts";
import type { ObjectAddresses, ObjectStore } from "../stores/objects/store.ts";
import { OFFLINE_APPLICATION_ID, OFFLINE_MIGRATIONS } from "../stores/offline/schema.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import { ONLINE_APPLICATION_ID, ONLINE_MIGRATIONS } from "../stores/online/schema.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import { explainDamage, inspectDatabase, isDamage, type OpenOptions, setAside } from "../stores/sqlite/open.ts";
import { TELEMETRY_APPLICATION_ID, TELEMETRY_MIGRATIONS } from "../stores/telemetry/schema.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";
import { TILES_APPLICATION_ID, TILES_MIGRATIONS } from "../stores/tiles/schema.ts";
import type { TileStore } from "../stores/tiles/store.ts";
import { TOPICS_APPLICATION_ID, TOPICS_MIGRATIONS } from "../stores/topics/schema.ts";
import type { TopicStore } from "../stores/topics/store.ts";
import { type ExclusiveLock, takeExclusiveLock } from "./exclusive-lock.ts";
import type { StoreName, StoreSettings } from "./store-settings.ts";

/** The stores by name. */
export interface StoreTypes {
  readonly metadata: MetadataStore;
  readonly object: ObjectStore;
  readonly online: OnlineStore;
  readonly offline: OfflineStore;
  readonly tiles: TileStore;
  readonly telemetry: TelemetryStore;
  readonly metrics: MetricStore;
  readonly logs: LogStore;
  readonly topics: TopicStore;
}

/** The location of a store, from its address. */
export interface StoreLocation {
  /** The part of the address after the scheme. */
  readonly rest: string;
  /**
   * The flag, variable or file that set the address; undefined for the location in the data
   * directory.
   */
  readonly setBy: string | undefined;
}

/** The services that drivers need. */
export interface DriverContext {
  /** Absolute path of the data directory. */
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly programVersion: string;
  /** Where a binary unpacks the library of the table engine, the first that can be written. */
  readonly libraryFolders: readonly string[];
  /** Returns the signer of objects' addresses on this server. */
  readonly addresses: () => ObjectAddresses;
  /** Called when the offline store begins to keep values. */
  readonly onHistory: () => void;
  /**
   * Path of the telemetry store's file, which held the lines of the log before there was a log
   * store; undefined when it is no file.
   */
  readonly oldLines: string | undefined;
}

/** A store as a driver found it, not open yet. */
export interface FoundStore<Store> {
  /** The location without secrets: the name of a file in the data directory, else the full path. */
  readonly name: string;
  /** `renewed`: the store was damaged and has been set aside. */
  readonly state: "empty" | "kept" | "renewed";
  open(): Promise<Store> | Store;
  /**
   * The error to report for a start that failed while the store was in use: a StartError if it is
   * damaged, else the error itself.
   */
  explain(error: unknown): unknown;
  /** Releases the lock of the location. */
  release(): void;
}

/** A driver, which opens addresses of one scheme as a store. */
export interface StoreDriver<Store> {
  /** The form of its addresses, for error messages. */
  readonly form: string;
  /**
   * Inspects a location without changing the content of a usable store. Throws StartError when it
   * cannot be used.
   */
  find(location: StoreLocation, context: DriverContext): Promise<FoundStore<Store>> | FoundStore<Store>;
}

/** The context in which an SQLite file is opened as a store. */
interface SqliteContext extends DriverContext {
  /** Called when a damaged file was set aside, with the error and the file's new path. */
  readonly onRenewal: (damage: unknown, keptAt: string) => void;
}

/** The properties of one store that is kept in an SQLite file. */
interface SqliteStore<Store> extends Pick<OpenOptions, "applicationId" | "migrations"> {
  /**
   * Whether a damaged file is set aside and begun anew, because its content can be recomputed or
   * done without.
   */
  readonly isRenewable: boolean;
  /** Inspects what else belongs to the store. Throws StartError when it cannot be used. */
  inspect?(file: Pick<OpenOptions, "path" | "programVersion">): void;
  open(file: Pick<OpenOptions, "path" | "programVersion">, context: SqliteContext): Promise<Store> | Store;
}

function sqliteDriver<Store>({ isRenewable, inspect, open, ...schema }: SqliteStore<Store>): StoreDriver<Store> {
  return {
    form: "sqlite:<absolute path of a file>",
    find(location, context) {
      const { path, name, release } = holdPath(location, context);
      const file = { ...schema, path, programVersion: context.programVersion };
      const onRenewal = (damage: unknown, kept: string): void =>
        context.log.warning(`${name} was damaged: it was set aside, and begun anew`, { reason: errorText(damage), kept });
      const found = (state: FoundStore<Store>["state"]): FoundStore<Store> => ({
        name,
        state,
        open: () => open(file, { ...context, onRenewal }),
        explain: (error) => explainDamage(path, error),
        release,
      });
      try {
        inspect?.(file);
        return found((inspectDatabase(file)?.version ?? 0) > 0 ? "kept" : "empty");
      } catch (error) {
        if (!isRenewable || !isDamage(error)) {
          release();
          throw error;
        }
        onRenewal(error, setAside(path));
        return found("renewed");
      }
    },
  };
}

/** The drivers by store and scheme. */
export const STORE_DRIVERS: { readonly [Name in StoreName]: Readonly<Record<string, StoreDriver<StoreTypes[Name]>>> } = {
  metadata: {
    sqlite: sqliteDriver<MetadataStore>({
      applicationId: METADATA_APPLICATION_ID,
      migrations: METADATA_MIGRATIONS,
      isRenewable: false,
      inspect: (file) => inspectOutbox(outboxPlace(file)),
      open: ({ path, programVersion }, { clock }) => createSqliteMetadataStore({ path, programVersion, now: () => clock.now() }),
    }),
  },
  object: {
    file: {
      form: "file:<absolute path of a folder>",
      find(location, context) {
        const { path, name, release } = holdPath(location, context);
        return {
          name,
          state: existsSync(path) ? "kept" : "empty",
          open: () => createDirectoryObjectStore(path, context.addresses()),
          explain: (error) => error,
          release,
        };
      },
    },
  },
  online: {
    sqlite: sqliteDriver<OnlineStore>({
      applicationId: ONLINE_APPLICATION_ID,
      migrations: ONLINE_MIGRATIONS,
      isRenewable: true,
      async open({ path, programVersion }, { clock, log, onRenewal }) {
        const { openRenewableOnlineStore } = await import("../stores/online/renewable.ts");
        return openRenewableOnlineStore(path, {
          now: () => clock.now(),
          programVersion,
          onRenewal,
          onWriteFailure: (error) => log.error("values could not be written to the online store", { error: error.message }),
          onDrop: (values, reason) => log.error("values were not kept in the online store", { values, reason }),
        });
      },
    }),
  },
  offline: {
    sqlite: sqliteDriver<OfflineStore>({
      applicationId: OFFLINE_APPLICATION_ID,
      migrations: OFFLINE_MIGRATIONS,
      isRenewable: false,
      async open({ path, programVersion }, { clock, log, libraryFolders, onHistory }) {
        const { createEmbeddedOfflineStore } = await import("../stores/offline/embedded.ts");
        return createEmbeddedOfflineStore({
          path,
          programVersion,
          libraryFolders,
          now: () => clock.now(),
          onOpen: onHistory,
          onUnavailable: (reason) => log.warning("the offline store goes on without its history, and is slow for many rows", { reason }),
          onMoveFailure: ({ message }) =>
            log.error("values could not be moved to the offline store's history; they are kept", { error: message }),
          onEnd: (reason) => log.error("the process of the offline store's history ended", { reason }),
        });
      },
    }),
  },
  tiles: {
    sqlite: sqliteDriver<TileStore>({
      applicationId: TILES_APPLICATION_ID,
      migrations: TILES_MIGRATIONS,
      isRenewable: true,
      async open({ path, programVersion }) {
        const { openSqliteTileStore } = await import("../stores/tiles/sqlite.ts");
        return openSqliteTileStore(path, { programVersion });
      },
    }),
  },
  telemetry: {
    sqlite: sqliteDriver<TelemetryStore>({
      applicationId: TELEMETRY_APPLICATION_ID,
      migrations: TELEMETRY_MIGRATIONS,
      isRenewable: true,
      async open({ path, programVersion }, { clock, log, onRenewal }) {
        const { createSqliteTelemetryStore } = await import("../stores/telemetry/sqlite.ts");
        return createSqliteTelemetryStore({
          path,
          programVersion,
          clock,
          onRenewal,
          onError: (error) => log.warning("telemetry could not be written", { error: String(error) }),
          onDrop: (dropped) => log.warning("telemetry was dropped", { dropped_since_start: dropped }),
        });
      },
    }),
  },
  metrics: {
    sqlite: sqliteDriver<MetricStore>({
      applicationId: METRICS_APPLICATION_ID,
      migrations: METRICS_MIGRATIONS,
      isRenewable: true,
      async open({ path, programVersion }, { clock, log, onRenewal }) {
        const { createSqliteMetricStore } = await import("../stores/metrics/sqlite.ts");
        const onError = (error: unknown): void => log.warning("the store of metrics could not be limited", { error: String(error) });
        return createSqliteMetricStore({ path, programVersion, clock, onRenewal, onError });
      },
    }),
  },
  logs: {
    sqlite: sqliteDriver<LogStore>({
      applicationId: LOGS_APPLICATION_ID,
      migrations: LOGS_MIGRATIONS,
      isRenewable: true,
      async open({ path, programVersion }, { clock, log, oldLines, onRenewal }) {
        const { createSqliteLogStore } = await import("../stores/logs/sqlite.ts");
        return createSqliteLogStore({
          path,
          programVersion,
          clock,
          onRenewal,
          carryFrom: oldLines,
          onError: (error) => log.warning("lines of the log could not be written", { error: String(error) }),
          onDrop: (dropped) => log.warning("lines of the log were dropped", { dropped_since_start: dropped }),
        });
      },
    }),
  },
  topics: {
    sqlite: sqliteDriver<TopicStore>({
      applicationId: TOPICS_APPLICATION_ID,
      migrations: TOPICS_MIGRATIONS,
      isRenewable: false,
      async open({ path, programVersion }, { clock }) {
        const { createSqliteTopicStore } = await import("../stores/topics/sqlite.ts");
        return createSqliteTopicStore({ path, programVersion, clock });
      },
    }),
  },
};

/** The default address of each store. */
export function defaultAddresses(dataDir: string): { readonly [Name in StoreName]: string } {
  const sqlite = (file: string): string => `sqlite:${join(dataDir, file)}`;
  return {
    metadata: sqlite("meta.db"),
    object: `file:${join(dataDir, "objects")}`,
    online: sqlite("online.db"),
    offline: sqlite("offline.db"),
    tiles: sqlite("tiles.db"),
    telemetry: sqlite("telemetry.db"),
    metrics: sqlite("metrics.db"),
    logs: sqlite("logs.db"),
    topics: sqlite("topics.db"),
  };
}

/** The driver and the address of each store, without credentials. */
export function storePlaces(
  settings: StoreSettings,
  dataDir: string,
): { readonly [Name in StoreName]: { readonly driver: string; readonly address: string } } {
  const known = defaultAddresses(dataDir);
  const place = (name: StoreName) => {
    const address = shownAddress(settings[name]?.address ?? known[name]).replace(/[?#].*$/s, "");
    return { driver: address.slice(0, address.indexOf(":")), address };
  };
  return {
    metadata: place("metadata"),
    object: place("object"),
    online: place("online"),
    offline: place("offline"),
    tiles: place("tiles"),
    telemetry: place("telemetry"),
    metrics: place("metrics"),
    logs: place("logs"),
    topics: place("topics"),
  };
}

/** An address without the credentials that it may carry. */
export function shownAddress(address: string): string {
  return address.replace(/\/\/.*@/s, "//***@");
}

/**
 * The path of a location, locked against other servers until `release` is called. Inside the data
 * directory its lock suffices; other locations have a lock file beside them.
 * @throws StartError when the location is not an absolute path, is in the data directory, or is
 * locked
 */
function holdPath({ rest, setBy }: StoreLocation, { dataDir }: DriverContext): HeldPath {
  if (setBy === undefined) return { path: rest, name: basename(rest), release: () => undefined };
  const path = rest.replace(/^\/\/(?=\/)/, "");
  if (!isAbsolute(path) || /^\/\/|[?#]/.test(path))
    throw new StartError("setting_invalid", `'${path}' is not an absolute path of a file or folder without parameters.`);
  const inside = relative(dataDir, path);
  if (!isAbsolute(inside) && inside.split(/[\\/]/)[0] !== "..")
    throw new StartError("setting_invalid", `${path} is in the data directory, where the server itself names the files.`);
  return { path, name: path, release: lockBeside(path).release };
}

interface HeldPath {
  readonly path: string;
  /** The base name in the data directory, else the path. */
  readonly name: string;
  readonly release: () => void;
}

function lockBeside(path: string): ExclusiveLock {
  try {
    makePrivateFolder(dirname(path));
  } catch (error) {
    throw new StartError("data_unusable", `${path} cannot be used: ${reasonAt(path, error)}.`);
  }
  const lock = takeExclusiveLock(`${path}.lock`);
  if (!lock) throw new StartError("locked", `${path} is held by another server, or is the place of another store.`);
  return lock;
}
