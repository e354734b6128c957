/** Columns of an evaluation. */

import type { FeatureValue } from "../../domain/value.ts";
import type { ChildRows, RowColumns } from "./compiled.ts";

/** Values of all rows, with the rows that failed; their values are null. */
export interface Column {
  readonly values: readonly FeatureValue[];
  /** Absent = none failed. */
  readonly errors?: ReadonlyMap<number, string>;
}

/** The rows that an expression is computed for. */
export interface Frame {
  readonly rows: RowColumns;
  /** The query's time in microseconds since 1970, for all rows or per row. */
  readonly nowMicros: bigint | readonly bigint[];
  /** The parent rows, outside the aggregation, and the assignment of these child rows to them. */
  readonly outer?: { readonly frame: Frame; readonly children: ChildRows };
}

/** Computes a column. */
export type Evaluate = (frame: Frame) => Column;

/** The query's time for a row. */
export function nowOf({ nowMicros }: Frame, row: number): bigint {
  return typeof nowMicros === "bigint" ? nowMicros : (nowMicros[row] as bigint);
}

/** The same column with its values converted to another type. */
export function widenColumn(compute: Evaluate, widen: ((value: FeatureValue) => FeatureValue) | undefined): Evaluate {
  if (!widen) return compute;
  return (frame) => {
    const { values, errors } = compute(frame);
    return { values: values.map((value) => (value === null ? null : widen(value))), ...(errors && { errors }) };
  };
}
