/** Functions applied to columns. */

import { EvaluationError } from "../../domain/expressions/evaluation-error.ts";
import { widener } from "../../domain/expressions/types.ts";
import type { TypedExpression } from "../../domain/expressions/typing.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { type Column, type Evaluate, widenColumn } from "./column.ts";

type Call = Extract<TypedExpression, { kind: "call" }>;
type Run = (...values: readonly FeatureValue[]) => FeatureValue;

/** Compiles a call of a function from its compiled arguments. */
export function compileCall(call: Call, computed: readonly Evaluate[]): Evaluate {
  const inputs = computed.map((compute, index) => {
    const target = call.widened[index];
    return widenColumn(compute, target && widener((call.arguments[index] as TypedExpression).type, target));
  });
  const run = call.overload.run as unknown as Run;
  if (call.definition.lazy)
    return (frame) =>
      lazily(
        run,
        inputs.map((input) => input(frame)),
        frame.rows.rows,
      );
  const seesNulls = call.definition.nulls !== undefined;
  return (frame) => {
    const columns = inputs.map((input) => input(frame));
    const isClean = columns.every(({ errors }) => errors === undefined);
    const [first, second] = columns;
    if (isClean && !seesNulls && columns.length === 1 && first) return unary(run, first.values);
    if (isClean && !seesNulls && columns.length === 2 && first && second) return binary(run, first.values, second.values);
    return any(run, columns, frame.rows.rows, seesNulls);
  };
}

function unary(run: Run, given: readonly FeatureValue[]): Column {
  const values = new Array<FeatureValue>(given.length);
  let errors: Map<number, string> | undefined;
  for (let row = 0; row < given.length; row++) {
    const value = given[row] as FeatureValue;
    try {
      values[row] = value === null ? null : run(value);
    } catch (error) {
      values[row] = null;
      errors = noted(errors, row, error);
    }
  }
  return errors ? { values, errors } : { values };
}

function binary(run: Run, left: readonly FeatureValue[], right: readonly FeatureValue[]): Column {
  const values = new Array<FeatureValue>(left.length);
  let errors: Map<number, string> | undefined;
  for (let row = 0; row < left.length; row++) {
    const [a, b] = [left[row] as FeatureValue, right[row] as FeatureValue];
    if (a === null || b === null) {
      values[row] = null;
      continue;
    }
    try {
      values[row] = run(a, b);
    } catch (error) {
      values[row] = null;
      errors = noted(errors, row, error);
    }
  }
  return errors ? { values, errors } : { values };
}

function any(run: Run, columns: readonly Column[], rows: number, seesNulls: boolean): Column {
  const values = new Array<FeatureValue>(rows);
  let errors: Map<number, string> | undefined;
  for (let row = 0; row < rows; row++) {
    const failed = columns.find((column) => column.errors?.has(row));
    const given = columns.map((column) => column.values[row] as FeatureValue);
    values[row] = null;
    if (failed) errors = (errors ?? new Map()).set(row, failed.errors?.get(row) ?? "");
    else if (seesNulls || !given.includes(null)) {
      try {
        values[row] = run(...given);
      } catch (error) {
        errors = noted(errors, row, error);
      }
    }
  }
  return errors ? { values, errors } : { values };
}

/**
 * Applies a lazy function. Its arguments are functions that return the row's value or throw its
 * error, so that an argument that is not evaluated cannot fail.
 */
function lazily(run: Run, columns: readonly Column[], rows: number): Column {
  const values = new Array<FeatureValue>(rows);
  let errors: Map<number, string> | undefined;
  let row = 0;
  const getters = columns.map(({ values: given, errors: failed }) => () => {
    const error = failed?.get(row);
    if (error !== undefined) throw new EvaluationError(error);
    return given[row] as FeatureValue;
  });
  const choose = run as unknown as (...values: readonly (() => FeatureValue)[]) => FeatureValue;
  for (; row < rows; row++) {
    try {
      values[row] = choose(...getters);
    } catch (error) {
      values[row] = null;
      errors = noted(errors, row, error);
    }
  }
  return errors ? { values, errors } : { values };
}

function noted(errors: Map<number, string> | undefined, row: number, error: unknown): Map<number, string> {
  if (!(error instanceof EvaluationError)) throw error;
  return (errors ?? new Map<number, string>()).set(row, error.message);
}
