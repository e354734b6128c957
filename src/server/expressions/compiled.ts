/**
 * What the engine sees of an expression: compiled once per feature, evaluated by columns.
 *
 * A path is dotted and starts at the class of its scope, without the namespace: `total`,
 * `account.bank.name`, `fails__600__`. A field of a struct is read by the evaluator; the path that
 * is asked for ends at the feature.
 */

import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { RowTest } from "./row-test.ts";

/** What one row must have for an expression to be evaluated. */
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
  /** Child rows that do not pass it count for nothing; undefined = all may count. */
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
   * Parents that have no child rows because the has-one row that would have them is missing: what
   * is aggregated of them is null. Undefined = there is none.
   */
  readonly absent?: ReadonlySet<number> | undefined;
}

/** What an evaluation depends on beside the rows. */
export interface EvaluationContext {
  /** The query's time in microseconds since 1970, for all rows or per row. */
  readonly nowMicros: bigint | readonly bigint[];
}

/** Results of an evaluation. */
export interface Evaluated {
  /** A value per row; null where a row failed. */
  readonly values: readonly FeatureValue[];
  /**
   * Why a row has no value, by row: `division by zero`, `integer overflow in add`. Most often
   * empty.
   */
  readonly errors: ReadonlyMap<number, string>;
}

/**
 * An expression that is ready to run. Holds no state of a run: it may be shared by any number of
 * queries.
 */
export interface CompiledExpression {
  readonly type: DataType;
  /** Whether null is a possible result. */
  readonly nullable: boolean;
  readonly references: References;
  /**
   * Of a condition: what every row passes for which it is true; undefined = nothing simpler is
   * known.
   */
  readonly test?: RowTest | undefined;
  /**
   * Whether it reads `_.svc_now` or `_.svc_window`, so that its value is not the same at another
   * time.
   */
  readonly readsClock: boolean;
  evaluate(rows: RowColumns, context: EvaluationContext): Evaluated;
}
