/**
 * The drivers of each store by the scheme of an address. A driver becomes choosable by a row here.
 */

import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import type { Clock } from "../../context/clock.ts";
import { reasonAt } from "../../disk/disk-error.ts";
import { makePrivateFolder } from "../../disk/private-file.ts";
import { errorText } from "../../domain/error-text.ts";
import { StartError } from "../failure.ts";
import type { Log } from "../log.ts";
import { METADATA_APPLICATION_ID, METADATA_MIGRATIONS } from "../stores/metadata/schema.ts";
import { createSqliteMetadataStore } from "../stores/metadata/sqlite.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { createDirectoryObjectStore } from "../stores/objects/directory.ts";
import type { ObjectAddresses, ObjectStore } from "../stores/objects/store.ts";
import { OFFLINE_APPLICATION_ID, OFFLINE_MIGRATIONS } from "../stores/offline/schema.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import { ONLINE_APPLICATION_ID, ONLINE_MIGRATIONS } from "../stores/online/schema.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import { explainDamage, inspectDatabase, isDamage, type OpenOptions, setAside } from "../stores/sqlite/open.ts";
import { TELEMETRY_APPLICATION_ID, TELEMETRY_MIGRATIONS } from "../stores/telemetry/schema.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";
import { type ExclusiveLock, takeExclusiveLock } from "./exclusive-lock.ts";
import type { StoreName } from "./store-settings.ts";

/** The stores by name. */
export interface StoreTypes {
  readonly metadata: MetadataStore;
  readonly object: ObjectStore;
  readonly online: OnlineStore;
  readonly offline: OfflineStore;
  readonly telemetry: TelemetryStore;
}

/** Where a store is wanted. */
export interface StorePlace {
  /** What follows the scheme of the address. */
  readonly rest: string;
  /** Who set the address; undefined for the place in the data directory. */
  readonly setBy: string | undefined;
}

/** What drivers work with. */
export interface DriverContext {
  /** Absolute path of the data directory. */
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly programVersion: string;
  /** Gives what signs addresses of objects that lead to this server. */
  readonly addresses: () => ObjectAddresses;
  /** Told when the offline store begins to keep something. */
  readonly onHistory: () => void;
}

/** What a driver found at a place. */
export interface FoundStore<Store> {
  /** The place without secrets: the name of a file in the data directory, else in full. */
  readonly name: string;
  /** `renewed`: what was there was damaged and is set aside. */
  readonly state: "empty" | "kept" | "renewed";
  open(): Promise<Store> | Store;
  /** The error of a start that failed while the store was in use: damage is said in words. */
  explain(error: unknown): unknown;
  /** Lets others have the place. */
  release(): void;
}

/** How one kind of address is opened as a store. */
export interface StoreDriver<Store> {
  /** How such an address looks. */
  readonly form: string;
  /**
   * Looks at a place, changing nothing that is kept there. Throws StartError when it cannot be
   * used.
   */
  find(place: StorePlace, context: DriverContext): Promise<FoundStore<Store>> | FoundStore<Store>;
}

/** What an SQLite file is opened with as a store. */
interface SqliteContext extends DriverContext {
  /** Told when a damaged file was set aside: what was wrong with it, and where it is now. */
  readonly onRenewal: (damage: unknown, keptAt: string) => void;
}

/** What a driver of SQLite files says of one store. */
interface SqliteStore<Store> extends Pick<OpenOptions, "applicationId" | "migrations"> {
  /**
   * Whether a damaged file is set aside and begun anew, because what it holds can be got again or
   * done without.
   */
  readonly isRenewable: boolean;
  open(file: Pick<OpenOptions, "path" | "programVersion">, context: SqliteContext): Promise<Store> | Store;
}

function sqliteDriver<Store>({ isRenewable, open, ...schema }: SqliteStore<Store>): StoreDriver<Store> {
  return {
    form: "sqlite:<absolute path of a file>",
    find(place, context) {
      const { path, name, release } = holdPath(place, context);
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

/** The drivers. */
export const STORE_DRIVERS: { readonly [Name in StoreName]: Readonly<Record<string, StoreDriver<StoreTypes[Name]>>> } = {
  metadata: {
    sqlite: sqliteDriver<MetadataStore>({
      applicationId: METADATA_APPLICATION_ID,
      migrations: METADATA_MIGRATIONS,
      isRenewable: false,
      open: ({ path, programVersion }, { clock }) => createSqliteMetadataStore({ path, programVersion, now: () => clock.now() }),
    }),
  },
  object: {
    file: {
      form: "file:<absolute path of a folder>",
      find(place, context) {
        const { path, name, release } = holdPath(place, context);
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
          onDrop: (values) => log.error("values were not kept in the online store", { values, reason: "too many wait to be written" }),
        });
      },
    }),
  },
  offline: {
    sqlite: sqliteDriver<OfflineStore>({
      applicationId: OFFLINE_APPLICATION_ID,
      migrations: OFFLINE_MIGRATIONS,
      isRenewable: false,
      async open({ path, programVersion }, { clock, onHistory }) {
        const { createSqliteOfflineStore } = await import("../stores/offline/sqlite.ts");
        return createSqliteOfflineStore({ path, programVersion, now: () => clock.now(), onOpen: onHistory });
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
};

/** Where each store is unless somebody says otherwise. */
export function placesIn(dataDir: string): { readonly [Name in StoreName]: string } {
  const sqlite = (file: string): string => `sqlite:${join(dataDir, file)}`;
  return {
    metadata: sqlite("meta.db"),
    object: `file:${join(dataDir, "objects")}`,
    online: sqlite("online.db"),
    offline: sqlite("offline.db"),
    telemetry: sqlite("telemetry.db"),
  };
}

/**
 * The path of a place, which no other server has until `release` is called. The data directory's
 * lock is for what is in it; another place has a lock of its own beside it.
 * @throws StartError when the place is no path, is in the data directory, or is held
 */
function holdPath({ rest, setBy }: StorePlace, { dataDir }: DriverContext): HeldPath {
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
  /** Without the folder, in the data directory. */
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
