/**
 * Retention of the history: on each node, observations of an environment that are older than its
 * configuration allows are removed, and the oldest ones of a history that is larger. Nothing newer
 * than what stays is ever removed.
 */

import { errorText } from "../../domain/error-text.ts";
import { formatTimestamp } from "../../domain/timestamp.ts";
import type { Log } from "../log.ts";
import type { HourOfHistory, OfflineStore } from "../stores/offline/store.ts";

/** The limits of an environment's history. */
export interface HistoryLimits {
  /** Milliseconds; undefined = any age. */
  readonly maxAgeMs: number | undefined;
  /** Undefined = any size. */
  readonly maxBytes: number | undefined;
}

/** What was removed of an environment's history since this node started. */
export interface RemovedHistory {
  readonly environmentId: string;
  /** Number of observations. */
  readonly observations: number;
  /** Everything that was observed before is gone, epoch milliseconds. */
  readonly observedBefore: number;
}

/** The retention of the history on this node. */
export interface HistoryRetention {
  /**
   * Removes what is too old, and the oldest of what is too much. Never rejects but by the signal.
   */
  enforce(signal: AbortSignal): Promise<void>;
  /** What was removed, by environment. */
  removed(): readonly RemovedHistory[];
}

/** Makes the retention. */
export function createHistoryRetention(options: {
  /** The limits of every environment that has some, by id. */
  readonly limits: () => Promise<ReadonlyMap<string, HistoryLimits>>;
  readonly offline: () => Promise<Pick<OfflineStore, "hours" | "trim">>;
  readonly now: () => number;
  readonly log: Log;
}): HistoryRetention {
  const { offline, now, log } = options;
  const removed = new Map<string, RemovedHistory>();

  const trim = async (environmentId: string, { maxAgeMs, maxBytes }: HistoryLimits): Promise<void> => {
    const store = await offline();
    const tooOld = maxAgeMs === undefined ? Number.NEGATIVE_INFINITY : now() - maxAgeMs;
    const tooMuch = maxBytes === undefined ? Number.NEGATIVE_INFINITY : cutOf(await store.hours(environmentId), maxBytes);
    const observedBefore = Math.max(tooOld, tooMuch);
    if (observedBefore === Number.NEGATIVE_INFINITY) return;
    const observations = await store.trim(environmentId, observedBefore);
    if (observations === 0) return;
    const before = removed.get(environmentId);
    removed.set(environmentId, {
      environmentId,
      observations: observations + (before?.observations ?? 0),
      observedBefore: Math.max(observedBefore, before?.observedBefore ?? observedBefore),
    });
    log.info("old observations were removed", { environment: environmentId, observations, before: formatTimestamp(observedBefore) });
  };

  return {
    async enforce(signal) {
      for (const [environmentId, limits] of await options.limits()) {
        signal.throwIfAborted();
        await trim(environmentId, limits).catch((error: unknown) =>
          log.error("old observations could not be removed", { environment: environmentId, error: errorText(error) }),
        );
      }
    },
    removed: () => [...removed.values()],
  };
}

/** The beginning of the first hour from which on everything fits; the newest hour always stays. */
function cutOf(hours: readonly HourOfHistory[], maxBytes: number): number {
  let bytes = 0;
  for (let at = hours.length - 1; at >= 0; at--) {
    bytes += hours[at]?.bytes ?? 0;
    if (bytes > maxBytes) return (hours[at + 1] ?? hours[at])?.from ?? Number.NEGATIVE_INFINITY;
  }
  return Number.NEGATIVE_INFINITY;
}
