/** How far the values of features have moved from those of the week before. */

import { stabilityIndex } from "../../domain/metrics/value-sketch.ts";
import type { FeatureStatsStore } from "../stores/metrics/feature-stats.ts";
import { mergedSketches } from "../stores/metrics/feature-stats-table.ts";
import type { MetricRecorder } from "./recorder.ts";

const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;
/** Fewest values that are compared, on either side: of fewer, chance says more than drift. */
const LEAST_VALUES = 100;
/** Most features that are compared in an hour. */
const MAX_FEATURES = 20_000;

/** Records the drift of every feature in the last full hour before `now`, epoch milliseconds. */
export async function recordDrift(store: FeatureStatsStore, metrics: MetricRecorder, now: number, signal?: AbortSignal): Promise<void> {
  const before = Math.floor(now / HOUR_MS) * HOUR_MS;
  const from = before - HOUR_MS;
  for (const { environmentId, feature } of await store.featuresWithStats({ from, before, limit: MAX_FEATURES })) {
    if (signal?.aborted) return;
    const of = { environmentId, feature };
    const actual = mergedSketches(await store.featureStats({ ...of, from, before }));
    const reference = mergedSketches(await store.featureStats({ ...of, from: from - WEEK_MS, before: from }));
    if (!actual || !reference || actual.count < LEAST_VALUES || reference.count < LEAST_VALUES) continue;
    const index = stabilityIndex(actual, reference);
    if (index !== undefined) metrics.gauge("feature.drift", environmentId, { feature }).set(index);
  }
}
