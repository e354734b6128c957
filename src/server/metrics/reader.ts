/** Reading of metrics: what the store has, joined with what this node has in memory. */

import type { FeatureHour } from "../stores/metrics/feature-stats.ts";
import { GatheredExemplars } from "../stores/metrics/gathered-exemplars.ts";
import { MetricGrouping } from "../stores/metrics/grouping.ts";
import type { ExemplarGroup, ExemplarSelection, MetricAnswer, MetricSelection, MetricStore } from "../stores/metrics/store.ts";
import type { FeatureRecorder } from "./feature-recorder.ts";
import type { MetricRecording } from "./recorder.ts";

/** The reader. */
export interface MetricReader {
  /**
   * Buckets of a selection, as `MetricStore.read` gives them, with those that are not stored yet;
   * the last one may go on. A step that is no multiple of a minute has to be one of ten seconds,
   * and is read from memory alone: what this node recorded in the last hour, since its start.
   */
  read(selection: MetricSelection): Promise<MetricAnswer>;
  /**
   * Traced values of a selection, as `MetricStore.exemplars` gives them, and with them the last one
   * of each bucket of this node's series.
   */
  exemplars(selection: ExemplarSelection): Promise<ExemplarGroup[]>;
  /** The hours of a feature's statistics, with what this node has not stored yet. */
  featureStats(environmentId: string, feature: string, from: number, before: number): Promise<FeatureHour[]>;
  /** Values of a label of a metric, in their order, at most `limit`. */
  labelValues: MetricStore["labelValues"];
}

const MINUTE_MS = 60_000;

/** Makes the reader. */
export function createMetricReader(parts: {
  readonly store: () => Promise<MetricStore>;
  readonly recording: Pick<MetricRecording, "unwritten" | "addRecent" | "series">;
  readonly features: Pick<FeatureRecorder, "unwritten">;
}): MetricReader {
  const { recording } = parts;
  return {
    async read(selection) {
      if (selection.stepMs % MINUTE_MS !== 0) {
        const grouping = new MetricGrouping(selection);
        recording.addRecent(grouping, selection);
        return grouping.answer();
      }
      const store = await parts.store();
      return store.read(selection, recording.unwritten(selection));
    },
    async exemplars(selection) {
      const { from, before } = selection;
      const gathering = new GatheredExemplars(selection);
      for (const { labels, exemplars } of recording.series(selection)) {
        if (!exemplars || !gathering.matches(labels)) continue;
        gathering.add(
          labels,
          [...exemplars.values()].filter(({ at }) => at >= from && at < before),
        );
      }
      for (const { exemplars, labels } of await (await parts.store()).exemplars(selection)) gathering.add(labels, exemplars);
      return gathering.groups();
    },
    async featureStats(environmentId, feature, from, before) {
      const store = await parts.store();
      return store.featureStats({ environmentId, feature, from, before }, parts.features.unwritten(environmentId, feature));
    },
    async labelValues(wanted) {
      const { label, limit } = wanted;
      const stored = await (await parts.store()).labelValues(wanted);
      const recorded = recording.series(wanted).map(({ labels }) => labels[label] ?? "");
      return [...new Set([...stored, ...recorded])].sort().slice(0, limit);
    },
  };
}
