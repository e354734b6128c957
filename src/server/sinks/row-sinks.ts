/** Sinks of a deployment, as those see them who know rows: queries, jobs and streams. */

import type { FeatureValue } from "../../domain/value.ts";

/** A sink that takes rows of a class. */
export interface RowSink {
  /** FQNs of the columns, the primary key among them. */
  readonly columns: readonly string[];
  /** Whether it takes rows of a query with these tags. */
  takesTags(tags: readonly string[]): boolean;
  /**
   * Takes a row, a value for each column; never waits, never throws. One for which there is no room
   * is dropped and counted.
   */
  add(row: readonly FeatureValue[]): void;
}

/** The sinks of one deployment. */
export interface RowSinks {
  /** Those of a class. */
  of(namespace: string): readonly RowSink[];
  /**
   * Hands over what waits, in a bounded time; rows that are left then are dropped and counted, as
   * are those that come later. Never rejects.
   */
  drain(): Promise<void>;
}
