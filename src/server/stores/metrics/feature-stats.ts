/** Statistics of features by hour, kept for 30 days beside the metrics. */

import type { SketchJson } from "../../../domain/metrics/value-sketch.ts";

/** What queries were answered of a feature in an hour. Rows merge. */
export interface FeatureHour {
  /** Beginning of the hour, epoch milliseconds. */
  readonly at: number;
  /** Values that were asked for; those that were null, and those that failed, are among them. */
  readonly count: number;
  readonly nulls: number;
  readonly errors: number;
  /**
   * Ages in seconds of values that the online store served, as `ExponentialHistogram` encodes them.
   */
  readonly ages: Uint8Array;
  /** Of values that were sampled; undefined = none were, as of features tagged `pii`. */
  readonly sketch?: SketchJson;
}

/** The hour of a feature. */
export interface FeatureStats extends FeatureHour {
  readonly environmentId: string;
  /** FQN. */
  readonly feature: string;
}

/** The store of statistics. */
export interface FeatureStatsStore {
  /** Adds statistics; those of an hour that is there are merged. */
  addFeatureStats(stats: readonly FeatureStats[]): Promise<void>;
  /**
   * The hours of a feature that begin in a range of epoch milliseconds, in their order.
   * @param more statistics of the feature that count as if they had been added
   */
  featureStats(
    of: { readonly environmentId: string; readonly feature: string; readonly from: number; readonly before: number },
    more?: readonly FeatureHour[],
  ): Promise<FeatureHour[]>;
  /** Features with statistics in hours that begin in a range, at most `limit`, in their order. */
  featuresWithStats(of: {
    readonly from: number;
    readonly before: number;
    readonly limit: number;
  }): Promise<Pick<FeatureStats, "environmentId" | "feature">[]>;
}
