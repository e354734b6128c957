/**
 * The interface between the query engine and the offline store: the engine hands over the values
 * that each run of a plan computed, including those of child rows. Values that were given, served
 * by the online store, joined or defaulted are not handed over. Without a sink a deployment stores
 * nothing offline.
 */

import type { FeatureValue } from "../../domain/value.ts";

/**
 * Fresh values of one feature, in columns of the same length. The sink keeps the lists, which must
 * not change afterwards.
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
   * Queues values to be stored soon; never throws. It returns a promise only when too many values
   * are pending: the answer then waits, so that values are not computed faster than they can be
   * stored.
   * @returns whether they were queued; `ValueSinks.flush` tells when they are stored. False: they
   * were dropped and counted.
   */
  take(columns: readonly FreshColumn[]): boolean | Promise<boolean>;
}
