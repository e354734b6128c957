/** What a running query knows of the world, and what its ops hand back. */

import type { FeatureValue } from "../../../domain/value.ts";
import type { Log } from "../../log.ts";
import type { LiveDeployment } from "../engine.ts";
import type { GraphIndex } from "../graph/graph-index.ts";
import type { CellFailure } from "./cells.ts";
import type { RunObserver } from "./observer.ts";
import type { QueryTime } from "./query-time.ts";
import type { Trace } from "./trace.ts";

/** The world of one query. */
export interface RunContext {
  readonly deployment: LiveDeployment;
  /** The time that the query answers as of; where its rows have times of their own, when it arrived. */
  readonly now: QueryTime;
  readonly queryId: string;
  /** Id of the query's trace: the caller's if it sent one, else one that is good for logs. */
  readonly traceId: string;
  /** The caller's `traceparent` header, for the calls of a query that is not traced; empty = none. */
  readonly traceparent: string;
  readonly tags: readonly string[];
  readonly queryContext: Readonly<Record<string, FeatureValue>>;
  readonly log: Log;
  readonly signal: AbortSignal | undefined;
  /** Set when the query is to be explained. */
  readonly trace: Trace | undefined;
  /** Set when the query is traced or its stages are kept. */
  readonly observer: RunObserver | undefined;
  /** The deployment's compiled expressions. */
  readonly compile: GraphIndex["compile"];
}

/** What became of one cell. */
export type Outcome =
  | { readonly kind: "value"; readonly value: FeatureValue }
  | { readonly kind: "absent" }
  /** `final`: the feature's default does not stand in for it. `isNull`: null came of it, where that is no value. */
  | { readonly kind: "failed"; readonly failure: CellFailure; readonly final?: boolean; readonly isNull?: boolean };

/** What an op gave. */
export interface OpResults {
  /** For each output of the op, for each row of the call. */
  readonly outcomes: readonly (readonly Outcome[])[];
  /** For each row of the call, the row's feature time in epoch milliseconds if the resolver gave one. */
  readonly observedAt: readonly (number | undefined)[];
  /** Of an op that looks rows up: for each row of the call, whether it has the row, or why it cannot tell. */
  readonly found?: readonly RowFound[];
}

/** Whether a source has a row, or why it cannot tell. */
export type RowFound = boolean | CellFailure;
