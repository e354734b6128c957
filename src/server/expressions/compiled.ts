/**
 * The engine's interface to expressions: compiled once per feature, evaluated by columns.
 *
 * A path is dotted and starts at the class of its scope, without the namespace: `total`,
 * `account.bank.name`, `fails__600__`. A referenced path ends at the feature; the evaluator reads
 * fields of structs.
 */

import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { RowTest } from "./row-test.ts";

/** The values that a row needs for an expression to be evaluated. */
export interface References {
  /** Paths of the features that it reads of the row itself or through has-one relations. */
  readonly columns: readonly string[];
  /** Has-many relations that it aggregates, each once. */
  readonly relations: readonly RelationReference[];
}

/** A has-many relation that an expression aggregates, with what it reads of a child row. */
export interface RelationReference {
  /** Path of the relation: `txns`, or `account.txns` through a has-one relation. */
  readonly path: string;
  /** Namespace of the child's class. */
  readonly namespace: string;
  readonly references: References;
  /** Test that child rows must pass to matter; undefined = all may matter. */
  readonly test?: RowTest | undefined;
}

/** Rows of one class, by columns. */
export interface RowColumns {
  readonly rows: number;
  /** Values by path, each as long as `rows`; every path of `references.columns`. */
  readonly columns: ReadonlyMap<string, readonly FeatureValue[]>;
  /**
   * Child rows by path; every path of `references.relations`. Absent = the expression reads none.
   */
  readonly relations?: ReadonlyMap<string, ChildRows>;
}

/** Child rows: those of parent row i are from `offsets[i]` to `offsets[i + 1]`. */
export interface ChildRows extends RowColumns {
  /** One longer than the parent's `rows`. */
  readonly offsets: readonly number[];
  /**
   * Parents without child rows because a has-one row on the path is missing: their aggregations are
   * null. Undefined = none.
   */
  readonly absent?: ReadonlySet<number> | undefined;
}

/** Inputs of an evaluation beside the rows. */
export interface EvaluationContext {
  /** The query's time in microseconds since 1970, for all rows or per row. */
  readonly nowMicros: bigint | readonly bigint[];
}

/** Results of an evaluation. */
export interface Evaluated {
  /** A value per row; null where a row failed. */
  readonly values: readonly FeatureValue[];
  /** Error messages by row: `division by zero`, `integer overflow in add`. */
  readonly errors: ReadonlyMap<number, string>;
}

/** A compiled expression. Holds no state of an evaluation, so that queries may share it. */
export interface CompiledExpression {
  readonly type: DataType;
  /** Whether null is a possible result. */
  readonly nullable: boolean;
  readonly references: References;
  /**
   * For a condition, a test passed by every row for which it is true; undefined = none is known.
   */
  readonly test?: RowTest | undefined;
  /**
   * Whether it reads `_.svc_now` or `_.svc_window`, so that its value depends on the query's time.
   */
  readonly readsClock: boolean;
  evaluate(rows: RowColumns, context: EvaluationContext): Evaluated;
}
