/**
 * The store of metrics: buckets of time by series, for people to look at and for monitors. Buckets
 * are thinned by age: minutes for 48 hours, ten minutes for 30 days, hours for a year. Calls take
 * effect in their order: a read finds what was appended before it, whether or not that has
 * resolved.
 */

import type { FeatureStatsStore } from "./feature-stats.ts";

/** A series: one metric with values for its labels. */
export interface MetricSeries {
  /** Empty = about the server. */
  readonly environmentId: string;
  readonly metric: string;
  /** All labels of the metric; those without a value are empty. */
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * What was recorded of a series in a period. Buckets merge: counts and sums are added, bounds
 * widened, histograms added.
 */
export interface MetricBucket {
  /** Beginning of the period, epoch milliseconds, a multiple of its length. */
  readonly at: number;
  /** Records: increments of a counter, samples of a gauge, values of a histogram. */
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
  /** Of a histogram: its counts, as `ExponentialHistogram.encode` writes them. */
  readonly histogram?: Uint8Array;
}

/** A value of a traced call, by which its trace is found. */
export interface Exemplar {
  readonly value: number;
  readonly traceId: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** The bucket of a series. */
export interface MetricRow extends MetricSeries {
  readonly bucket: MetricBucket;
  /** Of a histogram: the traces of some of its values. */
  readonly exemplars?: readonly Exemplar[];
}

/** A condition on a label: its value matches one of the patterns, in which `*` is any text. */
export interface MetricFilter {
  readonly label: string;
  readonly patterns: readonly string[];
  /** Whether values that match are left out instead. */
  readonly isNegated: boolean;
}

/** Selection of buckets of one metric. */
export interface MetricSelection {
  readonly environmentId: string;
  readonly metric: string;
  /** All of them have to hold. */
  readonly filters: readonly MetricFilter[];
  /** Labels of which each set of values is a group of its own; none = one group. */
  readonly by: readonly string[];
  /** Epoch milliseconds, inclusive and exclusive. */
  readonly from: number;
  readonly before: number;
  /** Length of the periods into which buckets are merged, milliseconds; a multiple of a minute. */
  readonly stepMs: number;
  /** Most groups; the ones with the most records are given. */
  readonly maxGroups: number;
}

/** Selection of traced values of one metric. */
export type ExemplarSelection = Pick<MetricSelection, "environmentId" | "metric" | "filters" | "by" | "from" | "before">;

/** Traced values of the series that have the same values for the labels of `by`. */
export interface ExemplarGroup {
  readonly labels: Readonly<Record<string, string>>;
  /** The greatest first, at most `MAX_EXEMPLARS`. */
  readonly exemplars: readonly Exemplar[];
}

/** Most traced values of a group. */
export const MAX_EXEMPLARS = 20;

/** Buckets of the series that have the same values for the labels of `by`. */
export interface MetricGroup {
  readonly labels: Readonly<Record<string, string>>;
  /** In the order of time; periods without records are left out. */
  readonly buckets: readonly MetricBucket[];
}

/** The groups of a selection. */
export interface MetricAnswer {
  /** In the order of their labels. */
  readonly groups: readonly MetricGroup[];
  /** Groups that were left out because of `maxGroups`. */
  readonly omitted: number;
}

/** What the store holds. */
export interface MetricFigures {
  readonly schemaVersion: number;
  readonly bytes: number;
  readonly maxBytes: number;
  readonly defaultMaxBytes: number;
  readonly maxAgeMs: number;
  readonly defaultMaxAgeMs: number;
  readonly series: number;
  readonly buckets: number;
}

/** Bounds of what is kept; undefined = the default. */
export interface MetricLimits {
  readonly maxBytes: number | undefined;
  readonly maxAgeMs: number | undefined;
}

/** The store. */
export interface MetricStore extends FeatureStatsStore {
  /** Adds buckets of a minute; one that is there already is merged. */
  append(rows: readonly MetricRow[]): Promise<void>;
  /**
   * Buckets of a selection. Each is made of buckets of the longest period that divides the step and
   * that is still kept for its time: where only longer ones are, a bucket has what began in it. A
   * period counts when it begins in the range, so a range should begin at a multiple of the step.
   * @param more rows of the environment and the metric that count as if they had been appended
   */
  read(selection: MetricSelection, more?: readonly MetricRow[]): Promise<MetricAnswer>;
  /**
   * Traced values of a selection, by groups in any order. Kept are, for seven days, the greatest of
   * each series, hour and power of two.
   */
  exemplars(selection: ExemplarSelection): Promise<ExemplarGroup[]>;
  /** Values of a label of a metric, in their order, at most `limit`. */
  labelValues(
    series: Pick<MetricSeries, "environmentId" | "metric"> & { readonly label: string; readonly limit: number },
  ): Promise<string[]>;
  /**
   * Merges and removes buckets by their age at `now`, epoch milliseconds, and beyond the bound of
   * size.
   */
  thin(now: number): Promise<void>;
  /** Removes the series and the statistics of an environment. */
  forgetEnvironment(environmentId: string): Promise<void>;
  figures(): Promise<MetricFigures>;
  /** Sets the bounds of what is kept, and removes what is beyond; undefined = the default. */
  limit(limits: MetricLimits): Promise<void>;
  /** Writes and reads a bucket. Rejects when that fails. */
  probe(): Promise<void>;
  close(): Promise<void>;
}
