/**
 * The seam between the query engine and the offline store: the engine hands over what each run of a
 * plan computed, its child rows among it. Values that were given, served by the online store,
 * joined or put in by default are not handed over. A deployment without a sink keeps nothing.
 */

import type { FeatureValue } from "../../domain/value.ts";

/**
 * Fresh values of one feature, in columns of the same length. They are the sink's from then on:
 * they may not change afterwards.
 */
export interface FreshColumn {
  /** As in `LiveDeployment.featureIds`. */
  readonly featureId: number;
  /** FQN of the resolver that computed them; empty = an expression did. */
  readonly resolver: string;
  /** Type-tagged primary keys, see `storeKey`. */
  readonly keys: readonly string[];
  readonly values: readonly FeatureValue[];
  /** Epoch milliseconds. */
  readonly observedAt: readonly number[];
}

/** Takes the fresh values of one deployment. */
export interface ValueSink {
  /**
   * Takes values to be stored soon. Costs no more than putting them on a list; it is a promise only
   * when too much waits to be written: the answer waits with it, so that values are computed no
   * faster than they can be kept. It never throws.
   * @returns whether they were taken. True is not yet a promise that they are stored: that is what
   * `ValueSinks.flush` gives. False: they were dropped and counted.
   */
  take(columns: readonly FreshColumn[]): boolean | Promise<boolean>;
}
