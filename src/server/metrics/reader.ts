/** Reading of metrics: what the store has, joined with what this node has in memory. */

import type { FeatureHour } from "../stores/metrics/feature-stats.ts";
import { labelTest, MetricGrouping } from "../stores/metrics/grouping.ts";
import type { MetricAnswer, MetricSelection, MetricStore } from "../stores/metrics/store.ts";
import type { FeatureRecorder } from "./feature-recorder.ts";
import type { MetricRecording } from "./recorder.ts";
import type { Exemplar } from "./series.ts";

/** A value of a traced call, in the series that it was recorded in. */
export interface SeriesExemplar extends Exemplar {
  readonly labels: Readonly<Record<string, string>>;
}

/** The reader. */
export interface MetricReader {
  /**
   * Buckets of a selection, as `MetricStore.read` gives them, with those that are not stored yet;
   * the last one may go on. A step that is no multiple of a minute has to be one of ten seconds,
   * and is read from memory alone: what this node recorded in the last hour, since its start.
   */
  read(selection: MetricSelection): Promise<MetricAnswer>;
  /** The last traced value of each bucket of this node's series, in the order of time. */
  exemplars(selection: Pick<MetricSelection, "environmentId" | "metric" | "filters" | "from" | "before">): SeriesExemplar[];
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
    exemplars({ filters, from, before, ...of }) {
      const matches = labelTest(filters);
      return recording
        .series(of)
        .filter(({ labels }) => matches(labels))
        .flatMap(({ labels, exemplars }) => [...(exemplars?.values() ?? [])].map((exemplar) => ({ ...exemplar, labels })))
        .filter(({ at }) => at >= from && at < before)
        .sort((one, other) => one.at - other.at);
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
