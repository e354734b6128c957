/**
 * Writing uploaded rows to the stores, in parts: the history first, in one commit, then the online
 * store, in steps between which queries are served. Writing a part again changes nothing that
 * queries see: its values have the same keys and times.
 */

import type { DeletedValues } from "../deletions/deleted-values.ts";
import type { Observations, OfflineStore } from "../stores/offline/store.ts";
import { EVICTED, type OnlineStore, type ValueWrite } from "../stores/online/store.ts";
import { cachingOf, expiryOf } from "../writes/policy.ts";
import type { TypedRows } from "./typed-rows.ts";

/** What was written. */
export interface WrittenValues {
  /** Values that the online store was given: of a row's, the newest. */
  readonly online: number;
  /** Observations in the history. */
  readonly offline: number;
  /** Values that were left out, because those of their rows of that time were deleted. */
  readonly deleted: number;
}

/** Where values are written, and for whom. */
export interface WriterOptions {
  readonly online: Pick<OnlineStore, "dropped" | "flush" | "put">;
  readonly offline: () => Promise<Pick<OfflineStore, "append">>;
  readonly deleted: DeletedValues;
  readonly now: () => number;
}

/** The origin of values in the stores. */
export interface ValueOrigin {
  /** Scope in the online store. */
  readonly scope: string;
  readonly deploymentId: string;
  /** Kind of their writer in the history; default: `upload`. */
  readonly op?: string;
  /** FQN of the resolver that computed them; default: none did. */
  readonly resolver?: string;
}

/** Nothing. */
export const NOTHING_WRITTEN: WrittenValues = { online: 0, offline: 0, deleted: 0 };

/** Values that are given to the online store in a step. */
const VALUES_PER_STEP = 1_000;

/** The sum of what was written. */
export function plus(a: WrittenValues, b: WrittenValues): WrittenValues {
  return { online: a.online + b.online, offline: a.offline + b.offline, deleted: a.deleted + b.deleted };
}

/**
 * Writes rows, durably when it resolves. Rejects when a store does not take them; a part may then
 * be there.
 */
export async function writeRows(
  { online, offline, deleted, now }: WriterOptions,
  { scope, deploymentId, op = "upload", resolver = "" }: ValueOrigin,
  rows: readonly TypedRows[],
): Promise<WrittenValues> {
  const observations: Observations[] = [];
  const writes: ValueWrite[] = [];
  let left = 0;
  const present = now();
  for (const { namespace, keys, observedAt, knownAt, columns } of rows)
    for (const { feature, offline: version, onlineMs, values } of columns) {
      const id = feature.featureId as number;
      const isKept = keys.map((key, row) => !deleted.refuses(scope, id, key, observedAt[row] as number));
      const kept = isKept.includes(false) ? [...keys.keys()].filter((row) => isKept[row]) : undefined;
      left += kept ? keys.length - kept.length : 0;
      const of = <T>(all: readonly T[]): readonly T[] => (kept ? kept.map((row) => all[row] as T) : all);
      const stored = { keys: of(keys), values: of(values), observedAt: of(observedAt) };
      if (version)
        observations.push({
          ...{ version, deploymentId, resolver, op, ...stored },
          ...(knownAt && { knownAt: of(knownAt) }),
        });
      if (onlineMs === undefined) continue;
      for (const [key, row] of newestRows(stored.keys, stored.observedAt)) {
        const value = stored.values[row] ?? null;
        const time = stored.observedAt[row] as number;
        const expiry = expiryOf(time, onlineMs);
        const caching = cachingOf(feature, value);
        if (caching === "keep" || (expiry.expiresAt ?? Number.POSITIVE_INFINITY) <= present) continue;
        const written = caching === "evict" ? { value: null, resolver: EVICTED } : { value, resolver };
        writes.push({ namespace, key, featureId: id, observedAt: time, ...written, ...expiry });
      }
    }
  await appendAll(await offline(), observations);
  await putAll(online, scope, writes);
  return { online: writes.length, offline: observations.reduce((sum, { keys }) => sum + keys.length, 0), deleted: left };
}

async function appendAll(offline: Pick<OfflineStore, "append">, observations: readonly Observations[]): Promise<void> {
  if (observations.length === 0) return;
  const [refusal] = await offline.append(observations);
  if (refusal) throw new Error(`the history refused values: ${refusal.reason}`);
}

async function putAll(online: WriterOptions["online"], scope: string, writes: readonly ValueWrite[]): Promise<void> {
  if (writes.length === 0) return;
  const dropped = online.dropped();
  for (let at = 0; at < writes.length; at += VALUES_PER_STEP) {
    online.put(scope, { values: writes.slice(at, at + VALUES_PER_STEP), rows: [] });
    await new Promise((resolve) => setImmediate(resolve));
  }
  await online.flush();
  if (online.dropped() > dropped) throw new Error("the online store had no room for values");
}

/** The newest row of each key, of equally new ones the last. */
function newestRows(keys: readonly string[], observedAt: readonly number[]): ReadonlyMap<string, number> {
  const newest = new Map<string, number>();
  for (let row = 0; row < keys.length; row++) {
    const key = keys[row] as string;
    const before = newest.get(key);
    if (before === undefined || (observedAt[before] as number) <= (observedAt[row] as number)) newest.set(key, row);
  }
  return newest;
}
