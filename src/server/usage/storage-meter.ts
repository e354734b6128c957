/**
 * What the stores hold for each environment, measured again and again in the background and counted
 * as bytes over time. What a store cannot tell by environment, such as free room and what is
 * shared, counts for the server.
 */

import type { Clock } from "../../context/clock.ts";
import { SERVER_SCOPE } from "../../domain/metrics/metric.ts";
import { environmentOfKey } from "../datasets/dataset-objects.ts";
import type { Log } from "../log.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import type { LogStore } from "../stores/logs/store.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { DEFAULT_RESOURCE_GROUP, type HeldBytes, type StorageKind } from "../stores/metadata/usage.ts";
import type { MetricStore } from "../stores/metrics/store.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";
import type { TopicStore } from "../stores/topics/store.ts";

/** Milliseconds between two measures of a store. */
export const STORAGE_MEASURE_MS = 600_000;
/** Longest time that one measure counts for: while no server runs nothing is counted. */
const LONGEST_MS = 2 * STORAGE_MEASURE_MS;
/** How many times as long as its last measure a store is left alone at least. */
const RESTS = 10;
/** Objects that are listed at a time, and in one measure at most. */
const PAGE_OBJECTS = 1_000;
const MOST_OBJECTS = 200_000;

/** What a store holds. */
export interface StoredBytes {
  /** All that it takes. */
  readonly bytes: number;
  /** The part that it can tell by environment, by the environment's id. */
  readonly environments: ReadonlyMap<string, number>;
}

/** A measure of a place. */
interface Measured {
  readonly held: readonly HeldBytes[];
  /** When it was made, epoch milliseconds. */
  readonly at: number;
  /** When the place may be measured again. */
  readonly again: number;
}

/** The meter of a node. */
export interface StorageMeter {
  /** Measures the stores of this node. */
  measure(signal: AbortSignal): Promise<void>;
  /** Measures the objects, which all nodes share. */
  measureObjects(signal: AbortSignal): Promise<void>;
  /** Counts what this node measured lately until now. Never rejects. */
  settle(): Promise<void>;
}

/** What the meter needs. */
export interface StorageMeterParts {
  readonly metadata: Pick<MetadataStore, "bundleOwners" | "bytes" | "featureOwners" | "usage">;
  readonly node: () => string;
  readonly clock: Clock;
  readonly log: Log;
  readonly online: () => Promise<Pick<OnlineStore, "measureFeatures">>;
  readonly offline: () => Promise<Pick<OfflineStore, "measure">>;
  readonly telemetry: () => Promise<Pick<TelemetryStore, "figures">>;
  readonly logs: () => Promise<Pick<LogStore, "figures">>;
  readonly objects: Pick<ObjectStore, "list">;
  readonly topics?: () => Promise<Pick<TopicStore, "figures">>;
  readonly metricStore?: () => Promise<Pick<MetricStore, "figures">>;
  /** Where what stores hold is recorded; absent = it is not. */
  readonly metrics?: MetricRecorder;
}

/** Names of stores as metrics have them; what is paid for as one is recorded by its own stores. */
const STORE_LABELS: Readonly<Partial<Record<StorageKind, string>>> = {
  online_store: "online",
  offline_store: "offline",
  object_store: "objects",
};

/** Makes the meter. Nothing is measured yet. */
export function createStorageMeter(parts: StorageMeterParts): StorageMeter {
  const { clock, metadata, log, node, objects, metrics } = parts;
  /** What was measured last, by its place. */
  const measured = new Map<string, Measured>();

  const hold = (place: string, held: readonly HeldBytes[]): Promise<void> => metadata.usage.hold(place, held, LONGEST_MS);

  const record = (store: string, bytes: number): void => metrics?.gauge("store.bytes", SERVER_SCOPE, { store }).set(bytes);

  /** Bytes of logged queries and lines, which are of no one environment. */
  const recordedBytes = async (): Promise<StoredBytes> => {
    const [queries, lines] = await Promise.all([(await parts.telemetry()).figures(), (await parts.logs()).figures()]);
    record("telemetry", queries.bytes);
    record("logs", lines.bytes);
    return { bytes: queries.bytes + lines.bytes, environments: new Map() };
  };
  /** Records what stores hold that nobody pays for. */
  const recordOthers = async (): Promise<void> => {
    try {
      record("metadata", await metadata.bytes());
      if (parts.metricStore) record("metrics", (await (await parts.metricStore()).figures()).bytes);
      if (parts.topics) record("topics", (await (await parts.topics()).figures()).bytes);
    } catch (error) {
      log.warning("what a store holds could not be measured", { store: "metadata, metrics or topics", error: String(error) });
    }
  };

  /** Measures a store, or counts on with its last measure when that took long. */
  const measureStore = async (kind: StorageKind, place: string, stored: () => Promise<StoredBytes>, signal: AbortSignal): Promise<void> => {
    const before = measured.get(place);
    const began = clock.now();
    try {
      if (before && began < before.again) return await hold(place, before.held);
      const now = await stored();
      const label = STORE_LABELS[kind];
      if (label !== undefined) record(label, now.bytes);
      const held = heldOf(kind, now);
      if (signal.aborted) return;
      const at = clock.now();
      measured.set(place, { held, at, again: at + RESTS * (at - began) });
      await hold(place, held);
    } catch (error) {
      log.warning("what a store holds could not be measured", { store: kind, error: String(error) });
    }
  };

  return {
    async measure(signal) {
      const own = {
        online_store: () => onlineBytes(parts, signal),
        offline_store: async () => (await parts.offline()).measure(),
        query_log: recordedBytes,
      };
      for (const [kind, stored] of Object.entries(own)) {
        if (signal.aborted) return;
        await measureStore(kind as keyof typeof own, `${kind} ${node()}`, stored, signal);
      }
      if (metrics?.isOn && !signal.aborted) await recordOthers();
    },

    measureObjects: (signal) => measureStore("object_store", "object_store", () => objectBytes(objects, metadata, signal), signal),

    async settle() {
      for (const [place, { at, held }] of measured) {
        if (at < clock.now() - LONGEST_MS) continue;
        await hold(place, held).catch((error: unknown) =>
          log.warning("stored bytes could not be counted", { place, error: String(error) }),
        );
      }
    },
  };
}

/** The bytes of environments, and of the server what is left. */
function heldOf(kind: StorageKind, { bytes, environments }: StoredBytes): HeldBytes[] {
  const told = [...environments].filter(([, of]) => of > 0);
  const rest = bytes - told.reduce((sum, [, of]) => sum + of, 0);
  const all: [string, number][] = rest > 0 ? [...told, ["", rest]] : told;
  return all.map(([environmentId, of]) => ({ kind, environmentId, resourceGroup: DEFAULT_RESOURCE_GROUP, bytes: of }));
}

/** Bytes of online values: those of features, whose environments the metadata know. */
async function onlineBytes({ metadata, online }: StorageMeterParts, signal: AbortSignal): Promise<StoredBytes> {
  const owners = await metadata.featureOwners();
  const { bytes, features } = await (await online()).measureFeatures(signal);
  const environments = new Map<string, number>();
  for (const [feature, of] of features) add(environments, owners.get(feature), of);
  return { bytes, environments };
}

/**
 * Bytes of objects. Files of datasets belong to their environment, a bundle of source to the one
 * that deployed it first; other objects, such as stages of queries and uploads that were not
 * deployed, to none.
 */
async function objectBytes(
  objects: Pick<ObjectStore, "list">,
  metadata: Pick<MetadataStore, "bundleOwners">,
  signal: AbortSignal,
): Promise<StoredBytes> {
  const owners = await metadata.bundleOwners();
  const environments = new Map<string, number>();
  let bytes = 0;
  let after = "";
  for (let listed = 0; listed < MOST_OBJECTS && !signal.aborted; listed += PAGE_OBJECTS) {
    const page = await objects.list({ after, limit: PAGE_OBJECTS });
    for (const { key, size } of page) {
      bytes += size;
      add(environments, environmentOfKey(key) ?? owners.get(key), size);
    }
    after = page.at(-1)?.key ?? "";
    if (page.length < PAGE_OBJECTS) break;
  }
  return { bytes, environments };
}

/** Adds bytes to those of an environment; to none of something that belongs to no environment. */
function add(environments: Map<string, number>, environmentId: string | undefined, bytes: number): void {
  if (environmentId !== undefined) environments.set(environmentId, (environments.get(environmentId) ?? 0) + bytes);
}
