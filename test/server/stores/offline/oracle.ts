/** The meaning of point-in-time samples, as a plain loop over everything that was stored. */

import type { FeatureValue } from "../../../../src/domain/value.ts";
import type { SampleBounds } from "../../../../src/server/stores/offline/store.ts";

/** One stored observation as the oracle knows it. */
export interface Known {
  readonly key: string;
  readonly value: FeatureValue;
  readonly observedAt: number;
  readonly insertedAt: number;
  readonly knownAt: number;
}

/** What counts of a row: `known` is in the order of storing. */
export function sampled(known: readonly Known[], key: string, time: number, ttlMs: number, bounds: SampleBounds): Known | undefined {
  let best: Known | undefined;
  for (const one of known) {
    if (one.key !== key || one.observedAt > time) continue;
    if (bounds.insertedFrom !== undefined && one.insertedAt < bounds.insertedFrom) continue;
    if (bounds.insertedBefore !== undefined && one.insertedAt >= bounds.insertedBefore) continue;
    if (bounds.asKnown && one.knownAt > time) continue;
    if (!best || one.observedAt >= best.observedAt) best = one;
  }
  return best && time - best.observedAt <= ttlMs ? best : undefined;
}
