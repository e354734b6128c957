/** How far the values of features have moved from those of the week before. */

import type { Clock } from "../../context/clock.ts";
import { stabilityIndex } from "../../domain/metrics/value-sketch.ts";
import type { FeatureHour, FeatureStatsStore } from "../stores/metrics/feature-stats.ts";
import { mergedSketches } from "../stores/metrics/feature-stats-table.ts";
import type { FeatureRecorder } from "./feature-recorder.ts";
import type { MetricRecorder } from "./recorder.ts";

const HOUR_MS = 3_600_000;
/** Length of the time before, whose values are the reference. */
export const DRIFT_REFERENCE_MS = 7 * 24 * HOUR_MS;
/** Fewest values that are compared, on either side: of fewer, chance says more than drift. */
const LEAST_VALUES = 100;
/** Most features that are compared in an hour. */
const MAX_FEATURES = 20_000;

/** The recording of drift on a node. */
export interface DriftRecorder {
  /** Records the drift in the last full hour, unless it did so already. */
  record(signal?: AbortSignal): Promise<void>;
}

/** Makes the recorder. The first hour is the one that is over at the first call. */
export function createDriftRecorder(parts: {
  readonly store: () => Promise<FeatureStatsStore>;
  readonly features: Pick<FeatureRecorder, "flush">;
  readonly metrics: MetricRecorder;
  readonly clock: Clock;
}): DriftRecorder {
  let recorded: number | undefined;
  return {
    async record(signal) {
      const now = parts.clock.now();
      const hour = Math.floor(now / HOUR_MS);
      if (hour === recorded) return;
      await parts.features.flush();
      await recordDrift(await parts.store(), parts.metrics, now, signal);
      if (!signal?.aborted) recorded = hour;
    },
  };
}

/** Records the drift of every feature in the last full hour before `now`, epoch milliseconds. */
export async function recordDrift(store: FeatureStatsStore, metrics: MetricRecorder, now: number, signal?: AbortSignal): Promise<void> {
  const before = Math.floor(now / HOUR_MS) * HOUR_MS;
  const from = before - HOUR_MS;
  for (const { environmentId, feature } of await store.featuresWithStats({ from, before, limit: MAX_FEATURES })) {
    if (signal?.aborted) return;
    const of = { environmentId, feature };
    const index = driftOf(
      await store.featureStats({ ...of, from, before }),
      await store.featureStats({ ...of, from: from - DRIFT_REFERENCE_MS, before: from }),
    );
    if (index !== undefined) metrics.gauge("feature.drift", environmentId, { feature }).set(index);
  }
}

/**
 * How far the values of hours have moved from those of hours before; undefined when either has too
 * few that were sampled.
 */
export function driftOf(hours: readonly FeatureHour[], before: readonly FeatureHour[]): number | undefined {
  const [actual, reference] = [mergedSketches(hours), mergedSketches(before)];
  if (!actual || !reference || actual.count < LEAST_VALUES || reference.count < LEAST_VALUES) return undefined;
  return stabilityIndex(actual, reference);
}
