/**
 * Deletions of stored values. A deletion is a record of the metadata store, which every node works
 * off for its own stores: the record is what survives, so that a node that was killed, was off or
 * missed the notification does the same at its next start. Each first learns what it may no longer
 * store, then removes what it holds, so that nothing slips in between.
 *
 * What was observed, or stored, until the deletion was asked for goes; what was observed later
 * stays. A record is kept for 30 days: so long a late write is refused, and a node may be off.
 *
 * A deletion may also be about versions of features. They came out of use in the step that stored
 * it: each node has its deployments go on with the next versions, waits for the queries that run
 * with those before, and then removes these. A query so sees all of the old versions or nothing.
 */

import { fromJsonString } from "@bufbuild/protobuf";
import { DataTypeSchema } from "../../../gen/svc/v1/value_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { DAY_MS } from "../../domain/day.ts";
import { errorText } from "../../domain/error-text.ts";
import { onlineScope } from "../deployments/live-scopes.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { createWakeablePause } from "../jobs/wakeable-pause.ts";
import type { Log } from "../log.ts";
import { followStore } from "../nodes/follow.ts";
import { sweepStages } from "../query-log/stages.ts";
import type { LogStore } from "../stores/logs/store.ts";
import type { BegunVersion, DeletedRows, DeletionRecord, EndedVersions, RemovedCounts } from "../stores/metadata/deletions.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { VersionsToEnd } from "../stores/metadata/versions.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import type { FeatureVersion, Observations, OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";
import { DeletedValues, type SilencedValues, silencedBy } from "./deleted-values.ts";
import { foreignNamespace } from "./selection.ts";

/** A deletion, and how far it is. */
export interface DeletionState {
  readonly deletion: DeletionRecord;
  /** Ids of the nodes that run and are not done. */
  readonly waiting: readonly string[];
}

/** The services and stores that deletions need. */
export interface DeletionOptions {
  readonly metadata: Pick<MetadataStore, "deletions" | "endVersions" | "nodes">;
  readonly online: Pick<OnlineStore, "deleteKeys" | "dropFeatures">;
  readonly offline: () => Promise<Pick<OfflineStore, "append" | "deleteKeys" | "dropVersion" | "scan">>;
  readonly telemetry: () => Promise<TelemetryStore>;
  readonly logs: () => Promise<LogStore>;
  readonly objects: ObjectStore;
  /** Removes the tiles that may hold rows that were deleted; branches have none. */
  readonly forgetTiles: (deletion: DeletionRecord, signal: AbortSignal) => Promise<void>;
  /** The deliveries to webhooks; `silence` returns the number of values that were removed. */
  readonly deliveries: () => Promise<{ silence(values: SilencedValues): Promise<number> }>;
  /**
   * Has this node's deployments of an environment go on with the versions in use; resolves when no
   * query runs with others.
   */
  readonly renewVersions: (environmentId: string, signal: AbortSignal) => Promise<void>;
  readonly bus: Bus;
  /** Id of this node. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** The capability to delete stored values. */
export interface Deletions {
  /** What this node may no longer store. */
  readonly deleted: DeletedValues;
  /** Reads what was deleted. Rejects when the metadata cannot be read. */
  load(): Promise<void>;
  /** A new id, by which a deletion can be begun once. */
  newId(): string;
  /** Whether there is a deletion of an id. */
  has(id: string): Promise<boolean>;
  /** Begins a deletion. Rejects with Failure resource_exhausted when there are too many. */
  begin(environmentId: string, branch: string, rows: readonly DeletedRows[], id?: string): Promise<DeletionRecord>;
  /**
   * Ends the versions of features that are in use, and begins a deletion of them. Rejects with
   * Failure resource_exhausted like `begin`.
   */
  endVersions(what: VersionsToEnd, id?: string): Promise<DeletionRecord>;
  /**
   * The state of an environment's deletion, when all nodes are done or after `MOST_WAIT_MS`.
   * Rejects with Failure not_found.
   */
  settled(environmentId: string, id: string): Promise<DeletionState>;
  close(): Promise<void>;
}

/** Milliseconds that a record is kept. */
const KEPT_MS = 30 * DAY_MS;
/** Most keys and versions of all deletions that are kept: every node has them in memory. */
const MOST_KEYS = 500_000;
/** Longest time, in milliseconds, that a caller waits for the nodes at once. */
const MOST_WAIT_MS = 10_000;
/** Milliseconds after which the record is read again, because notifications may be lost. */
const ASK_MS = 250;
/** Milliseconds without a heartbeat after which a node is gone: it deletes when it is back. */
const GONE_MS = 60_000;
/** Keys that are removed from the offline store in one commit. */
const KEYS_PER_COMMIT = 256;

/** Makes the capability, which follows what other nodes delete. */
export function createDeletions(options: DeletionOptions): Deletions {
  const { metadata, online, bus, node, clock, log } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const deleted = new DeletedValues();
  const known = new Map<string, DeletionRecord>();
  const done = new Set<string>();
  let working = Promise.resolve();

  const removeOffline = async ({ rows, createdAt }: DeletionRecord): Promise<number> => {
    const store = await options.offline();
    let removed = 0;
    for (const { featureIds, keys } of rows)
      for (let at = 0; at < keys.length; at += KEYS_PER_COMMIT) {
        signal.throwIfAborted();
        removed += await store.deleteKeys(featureIds, keys.slice(at, at + KEYS_PER_COMMIT), createdAt);
      }
    return removed;
  };

  /** Removes what this node holds of versions; returns the number of online values. */
  const removeVersions = async (environmentId: string, { begun, dropped, ended }: EndedVersions): Promise<number> => {
    await options.renewVersions(environmentId, signal);
    signal.throwIfAborted();
    const values = await online.dropFeatures([...new Set([...ended, ...dropped])], signal);
    const store = await options.offline();
    for (const id of dropped) {
      signal.throwIfAborted();
      await store.dropVersion(id);
    }
    if (dropped.length > 0) return values;
    // The newest version in the store is the one that is read by name, so it is to be there.
    const isKept = await Promise.all(ended.map(async (id) => (await store.scan(id, { limit: 1 })).length > 0));
    if (isKept.includes(true)) await store.append(begun.flatMap((one) => emptyHistory(environmentId, one)));
    return values;
  };

  const forgetQueries = async ({ branch, createdAt, environmentId, rows }: DeletionRecord): Promise<number> => {
    const [telemetry, logs] = await Promise.all([options.telemetry(), options.logs()]);
    const keys = rows.flatMap((one) => one.keys.map((key) => key.slice(2)));
    const queries = await telemetry.forgetKeys({ environmentId, branch, keys, until: createdAt }, signal, logs.forgetOperations);
    await logs.forgetKeys({ environmentId, branch, keys, until: createdAt * 1_000 }, signal);
    if (queries > 0) await sweepStages({ telemetry, objects: options.objects });
    return queries;
  };

  const silence = async (deletion: DeletionRecord): Promise<number> => {
    signal.throwIfAborted();
    return (await options.deliveries()).silence(silencedBy(deletion));
  };

  /** Removes what this node holds; it may begin again anywhere. */
  const remove = async (deletion: DeletionRecord): Promise<void> => {
    const scope = onlineScope(deletion.environmentId, deletion.branch);
    let values = 0;
    // First, because the stored values of a row tell in which tiles it is.
    if (deletion.branch === "" && deletion.rows.length > 0) await options.forgetTiles(deletion, signal);
    signal.throwIfAborted();
    for (const { featureIds, keys, namespace, relationIds } of deletion.rows) {
      values += await online.deleteKeys(scope, { namespace, keys, featureIds, until: deletion.createdAt }, signal);
      if (relationIds.length > 0) await online.dropFeatures(relationIds, signal);
    }
    signal.throwIfAborted();
    if (deletion.versions) values += await removeVersions(deletion.environmentId, deletion.versions);
    const offline = deletion.branch === "" ? await removeOffline(deletion) : 0;
    const queries = deletion.rows.length > 0 ? await forgetQueries(deletion) : 0;
    const told = deletion.rows.length > 0 ? await silence(deletion) : 0;
    signal.throwIfAborted();
    const removed: RemovedCounts = { online: values, offline, queries, told };
    await metadata.deletions.settle(deletion.id, node, removed);
    done.add(deletion.id);
    bus.publish("deletions", deletion.id);
    log.info("stored values were deleted", { deletion: deletion.id, environment: deletion.environmentId, ...removed });
  };

  /** Works off what is not done, in order; what fails is tried again at the next reading. */
  const work = async (): Promise<void> => {
    for (const deletion of known.values()) {
      if (signal.aborted || done.has(deletion.id)) continue;
      try {
        await remove(deletion);
      } catch (error) {
        if (!signal.aborted) log.error("stored values could not be deleted yet", { deletion: deletion.id, error: errorText(error) });
      }
    }
  };

  const read = async (): Promise<void> => {
    const ids = await metadata.deletions.ids();
    const there = new Set(ids);
    let isChanged = false;
    for (const id of known.keys()) {
      if (there.has(id)) continue;
      known.delete(id);
      done.delete(id);
      isChanged = true;
    }
    for (const id of ids) {
      const deletion = known.has(id) ? undefined : await metadata.deletions.get(id);
      if (!deletion) continue;
      known.set(id, deletion);
      if (deletion.removed[node]) done.add(id);
      isChanged = true;
    }
    if (isChanged) deleted.replace(known.values());
    if (ids.some((id) => !done.has(id))) working = working.then(work);
  };

  const following = followStore({ bus, topic: "deletions", clock, log, read });

  const freshId = (): string => newId("del", clock.now());
  const newDeletion = (environmentId: string, branch: string, rows: readonly DeletedRows[], id = freshId()): DeletionRecord => {
    const createdAt = clock.now();
    return { id, environmentId, branch, rows, versions: null, createdAt, expiresAt: createdAt + KEPT_MS, removed: {} };
  };
  /** Has all nodes act on a deletion that was stored. */
  const begun = async (deletion: DeletionRecord): Promise<DeletionRecord> => {
    bus.publish("deletions", deletion.id);
    await following.reread();
    return deletion;
  };

  const stateOf = async (environmentId: string, id: string): Promise<DeletionState> => {
    const deletion = await metadata.deletions.get(id);
    if (deletion?.environmentId !== environmentId)
      throw new Failure("not_found", `There is no deletion '${id.slice(0, 100)}' in this environment.`, {
        hint: "A deletion is known for 30 days.",
      });
    const nodes = new Set([node, ...(await metadata.nodes.list(GONE_MS)).map((one) => one.id)]);
    return { deletion, waiting: [...nodes].filter((one) => !deletion.removed[one]) };
  };

  return {
    deleted,
    load: following.reread,

    newId: freshId,
    has: async (id) => (await metadata.deletions.get(id)) !== undefined,

    async begin(environmentId, branch, rows, id) {
      const deletion = newDeletion(environmentId, branch, rows, id);
      if ((await metadata.deletions.create(deletion, MOST_KEYS)) === "full")
        throw new Failure("resource_exhausted", `More than ${MOST_KEYS} keys were deleted in 30 days, so nothing was deleted.`, {
          hint: "Delete whole features or the environment instead, or wait until earlier deletions are 30 days old.",
        });
      return begun(deletion);
    },

    async endVersions(what, id) {
      const deletion = await metadata.endVersions(what, newDeletion(what.environmentId, "", [], id), MOST_KEYS);
      if (deletion === "full")
        throw new Failure(
          "resource_exhausted",
          `More than ${MOST_KEYS} keys and versions were deleted in 30 days, so nothing was changed.`,
          {
            hint: "Wait until earlier deletions are 30 days old.",
          },
        );
      return begun(deletion);
    },

    async settled(environmentId, id) {
      const deadline = clock.now() + MOST_WAIT_MS;
      const pause = createWakeablePause(clock, signal);
      const unsubscribe = bus.subscribe("deletions", pause.wake);
      try {
        for (;;) {
          pause.clear();
          const state = await stateOf(environmentId, id);
          if (state.waiting.length === 0 || clock.now() >= deadline || signal.aborted) return state;
          await pause.sleep(ASK_MS);
        }
      } finally {
        unsubscribe();
      }
    },

    async close() {
      stopping.abort();
      await following.stop();
      await working;
    },
  };
}

/**
 * No observations of a version, by which its table is made; none of a relation, which has no
 * history.
 */
function emptyHistory(environmentId: string, { dtype, fqn, id, internalVersion }: BegunVersion): Observations[] {
  if (foreignNamespace(dtype) !== undefined) return [];
  const namespace = fqn.slice(0, fqn.indexOf("."));
  const name = fqn.slice(namespace.length + 1);
  const version: FeatureVersion = {
    ...{ featureId: id, environmentId, namespace, name, internalVersion },
    dtype: fromJsonString(DataTypeSchema, dtype),
  };
  return [{ version, deploymentId: "", resolver: "", op: "none", keys: [], values: [], observedAt: [] }];
}
