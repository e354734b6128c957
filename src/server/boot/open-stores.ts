/**
 * Opening the stores of a server, each by the driver that its address names. All stores are
 * inspected before the content of any is changed.
 */

import { didYouMean } from "../../domain/closest.ts";
import { StartError, type StartErrorCode } from "../failure.ts";
import type { LogStore } from "../stores/logs/store.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { MetricStore } from "../stores/metrics/store.ts";
import type { ObjectAddresses, ObjectStore } from "../stores/objects/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";
import type { TileStore } from "../stores/tiles/store.ts";
import type { TopicStore } from "../stores/topics/store.ts";
import type { DataDirectory } from "./data-directory.ts";
import { type KeptStore, readKnownStores } from "./known-stores.ts";
import type { SharedStores } from "./options.ts";
import {
  type DriverContext,
  defaultAddresses,
  type FoundStore,
  STORE_DRIVERS,
  type StoreDriver,
  type StoreTypes,
  shownAddress,
} from "./store-drivers.ts";
import type { StoreName, StoreSetting, StoreSettings } from "./store-settings.ts";

/** The stores of a server. Each call of a function opens its store again, so call it once. */
export interface Stores {
  readonly metadata: MetadataStore;
  readonly objects: ObjectStore;
  readonly online: () => Promise<OnlineStore>;
  /** Address of the online store, without credentials. */
  readonly onlineAddress: string;
  readonly offline: () => Promise<OfflineStore>;
  readonly tiles: () => Promise<TileStore>;
  readonly telemetry: () => Promise<TelemetryStore>;
  readonly metrics: () => Promise<MetricStore>;
  readonly logs: () => Promise<LogStore>;
  readonly topics: () => Promise<TopicStore>;
  /** Throws StartError when the metadata are empty although they are noted to have had content. */
  refuseEmptyMetadata(): void;
  /** Notes that the metadata have content from now on. */
  noteMetadata(): void;
  /**
   * The error to report for a start that failed while the metadata were in use: a StartError if
   * they are damaged, else the error itself.
   */
  explain(error: unknown): unknown;
  /**
   * Closes the metadata and releases the locks of all locations. The other stores must be closed
   * before.
   */
  close(): Promise<void>;
}

/**
 * Opens the metadata and the objects, and finds the others.
 * @param options.addresses returns the signer of objects' addresses; called once, when the metadata
 * are open
 * @throws StartError that names the address that cannot be used and the setting that it came from;
 * nothing stays open then
 */
export async function openStores(
  options: Omit<DriverContext, "dataDir" | "onHistory" | "oldLines"> & {
    readonly directory: Pick<DataDirectory, "path" | "file">;
    readonly settings: StoreSettings;
    /** Stores that are open already, which `close` leaves open. */
    readonly shared?: Pick<SharedStores, "metadata" | "objects" | "tiles">;
  },
): Promise<Stores> {
  const { directory, settings, log, shared } = options;
  const ends: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  const context: DriverContext = {
    ...options,
    addresses: () => addresses,
    dataDir: directory.path,
    oldLines: /^sqlite:(.*)$/s.exec(settings.telemetry?.address ?? defaultAddresses(directory.path).telemetry)?.[1],
    onHistory: () => note("offline"),
  };
  const find = async <Name extends StoreName>(name: Name): Promise<FoundStore<StoreTypes[Name]>> => {
    const found = await findStore(name, settings[name], context);
    ends.push(found.release);
    return found;
  };
  let note: (store: KeptStore) => void;
  let addresses: ObjectAddresses;
  try {
    const metadataFound = shared ? opened(shared.metadata) : await find("metadata");
    const kept = { metadata: metadataFound, offline: await find("offline"), topics: await find("topics") };
    const known = readKnownStores(directory, kept);
    note = (store) => {
      try {
        known.add(store);
      } catch (error) {
        log.warning("the stores of the data directory could not be noted", { store: kept[store].name, error: String(error) });
      }
    };
    const object = shared ? opened(shared.objects) : await find("object");
    const online = await find("online");
    const tiles = shared?.tiles ? opened(shared.tiles) : await find("tiles");
    const telemetry = await find("telemetry");
    const metrics = await find("metrics");
    const logs = await find("logs");
    for (const { name, state } of [online, tiles, telemetry, logs])
      if (state === "empty" && kept.metadata.state !== "empty") log.info(`${name} is missing or empty: it is begun anew`);
    const metadata = await kept.metadata.open();
    if (!shared) ends.push(() => metadata.close());
    for (const store of ["offline", "topics"] as const) if (kept[store].state !== "empty") note(store);
    addresses = options.addresses();
    const objects = await object.open();
    return {
      metadata,
      objects,
      online: async () => online.open(),
      onlineAddress: shownAddress(settings.online?.address ?? defaultAddresses(directory.path).online),
      offline: async () => kept.offline.open(),
      tiles: async () => tiles.open(),
      telemetry: async () => telemetry.open(),
      metrics: async () => metrics.open(),
      logs: async () => logs.open(),
      topics: async () => kept.topics.open(),
      refuseEmptyMetadata: () => known.refuseEmpty("metadata"),
      noteMetadata: () => note("metadata"),
      explain: kept.metadata.explain,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A store that the caller opened and will close. */
function opened<Store>(store: Store): FoundStore<Store> {
  return { name: "a shared store", state: "kept", open: () => store, explain: (error) => error, release: () => undefined };
}

/**
 * Finds a store at the address that was set, or else in the data directory. Errors about an address
 * that was set name its setting.
 */
async function findStore<Name extends StoreName>(
  name: Name,
  setting: StoreSetting | undefined,
  context: DriverContext,
): Promise<FoundStore<StoreTypes[Name]>> {
  const drivers: Readonly<Record<string, StoreDriver<StoreTypes[Name]>>> = STORE_DRIVERS[name];
  const [, scheme = "", rest = ""] = /^([^:]*):(.*)$/s.exec(setting?.address ?? defaultAddresses(context.dataDir)[name]) ?? [];
  const driver = Object.hasOwn(drivers, scheme) ? drivers[scheme] : undefined;
  if (!setting) return (driver as StoreDriver<StoreTypes[Name]>).find({ rest, setBy: undefined }, context);
  const blame = blamer(
    name,
    setting,
    Object.values(drivers).map(({ form }) => form),
  );
  try {
    if (!driver)
      throw new StartError(
        "setting_invalid",
        scheme === "" ? "It is no address." : `There is no driver '${scheme}' for it.`,
        didYouMean(scheme, Object.keys(drivers)),
      );
    const found = await driver.find({ rest, setBy: setting.setBy }, context);
    return {
      ...found,
      async open() {
        try {
          return await found.open();
        } catch (error) {
          throw blame(error);
        }
      },
      explain(error) {
        const explained = found.explain(error);
        return explained === error ? error : blame(explained);
      },
    };
  } catch (error) {
    throw blame(error);
  }
}

/** Next steps when a store at an address that was set cannot be used, by error code. */
const HINTS: Partial<Readonly<Record<StartErrorCode, string>>> = {
  newer_schema: "Start the server with the newer version of svc that wrote it, or set another address.",
  data_damaged: "Restore it from a backup (files ending in .backup lie beside it), or set another address.",
  locked: "Use or stop that server, or set another address.",
};

/** A function that adds the store's address and its setting to StartErrors. */
function blamer(name: StoreName, { address, setBy }: StoreSetting, forms: readonly string[]): (error: unknown) => unknown {
  const shown = shownAddress(address);
  return (error) => {
    if (!(error instanceof StartError)) return error;
    const hint =
      HINTS[error.code] ?? [error.code === "setting_invalid" ? error.hint : "", `An address is ${forms.join(" or ")}.`].join(" ").trim();
    return new StartError(error.code, `The ${name} store, which ${setBy} sets to '${shown}', cannot be used: ${error.message}`, hint);
  };
}
