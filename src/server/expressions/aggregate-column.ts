/** Aggregations of child rows. */

import type { Fold } from "../../domain/expressions/aggregations.ts";
import { compareValues } from "../../domain/expressions/compare.ts";
import { EvaluationError } from "../../domain/expressions/evaluation-error.ts";
import { type GroupFields, Groups, tooManyGroups } from "../../domain/expressions/grouping.ts";
import { widener } from "../../domain/expressions/types.ts";
import type { TypedExpression } from "../../domain/expressions/typing.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { type Column, type Evaluate, type Frame, nowOf, widenColumn } from "./column.ts";
import type { ChildRows } from "./compiled.ts";

type Aggregation = Extract<TypedExpression, { kind: "aggregation" }>;

/** Compiles an aggregation from its compiled filters, column, key and the columns of its groups. */
export function compileAggregation(
  node: Aggregation,
  filters: readonly Evaluate[],
  column: Evaluate | undefined,
  key: Evaluate | undefined,
  groups: readonly Evaluate[] | undefined,
): Evaluate {
  const widen = node.widened && node.column ? widener(node.column.type, node.widened) : undefined;
  const compute = column && widenColumn(column, widen);
  const computeKey = key && widenColumn(key, node.key?.widened && widener(node.key.typed.type, node.key.widened));
  const { keepsNulls } = node.definition;
  return (frame) => {
    const children = frame.rows.relations?.get(node.path);
    if (!children) throw new Error(`the rows of ${node.path} were not given`);
    const inner = childFrame(frame, children);
    const chosen = filters.map((filter) => filter(inner));
    const given = compute?.(inner);
    const keys = computeKey?.(inner);
    const groupColumns = groups?.map((group) => group(inner));
    const aggregate = (rows: readonly number[]): FeatureValue => {
      if (given && keys) return keyed(given, keys, rows, node.fold);
      return node.fold(given ? taken(given, rows, keepsNulls) : (rows as readonly FeatureValue[]));
    };
    const order = node.order === undefined ? undefined : children.columns.get(node.order);
    const values = new Array<FeatureValue>(frame.rows.rows);
    let errors: Map<number, string> | undefined;
    for (let row = 0; row < frame.rows.rows; row++) {
      if (children.absent?.has(row)) {
        values[row] = null;
        continue;
      }
      try {
        const rows = selected(chosen, children.offsets[row] as number, children.offsets[row + 1] as number);
        if (order) rows.sort((a, b) => inTime(order[a] ?? null, order[b] ?? null));
        if (groupColumns && node.grouping) values[row] = grouped(node.grouping.fields, groupColumns, rows, aggregate);
        else values[row] = aggregate(rows);
      } catch (error) {
        if (!(error instanceof EvaluationError)) throw error;
        values[row] = null;
        errors = (errors ?? new Map<number, string>()).set(row, error.message);
      }
    }
    return errors ? { values, errors } : { values };
  };
}

function childFrame(frame: Frame, children: ChildRows): Frame {
  const { offsets, rows } = children;
  if (typeof frame.nowMicros === "bigint") return { rows: children, nowMicros: frame.nowMicros, outer: { frame, children } };
  const nowMicros = new Array<bigint>(rows);
  for (let row = 0; row + 1 < offsets.length; row++) nowMicros.fill(nowOf(frame, row), offsets[row] as number, offsets[row + 1] as number);
  return { rows: children, nowMicros, outer: { frame, children } };
}

/**
 * The child rows of one parent that pass every filter. A filter's error counts only for rows that
 * passed the ones before.
 */
function selected(filters: readonly Column[], from: number, to: number): number[] {
  const rows: number[] = [];
  next: for (let row = from; row < to; row++) {
    for (const { values, errors } of filters) {
      const error = errors?.get(row);
      if (error !== undefined) throw new EvaluationError(error);
      if (values[row] !== true) continue next;
    }
    rows.push(row);
  }
  return rows;
}

function taken({ values, errors }: Column, rows: readonly number[], keepsNulls: boolean): FeatureValue[] {
  const result: FeatureValue[] = [];
  for (const row of rows) {
    const error = errors?.get(row);
    if (error !== undefined) throw new EvaluationError(error);
    const value = values[row] as FeatureValue;
    if (value !== null || keepsNulls) result.push(value);
  }
  return result;
}

/** The fold of the rows in which neither the value nor the key is null. */
function keyed(values: Column, keys: Column, rows: readonly number[], fold: Fold): FeatureValue {
  const known = rows.filter((row) => {
    const error = values.errors?.get(row) ?? keys.errors?.get(row);
    if (error !== undefined) throw new EvaluationError(error);
    return values.values[row] !== null && keys.values[row] !== null;
  });
  const of = (column: Column): FeatureValue[] => known.map((row) => column.values[row] as FeatureValue);
  return fold(of(values), of(keys));
}

/** The aggregate of each group of rows, as structs. */
function grouped(
  fields: GroupFields,
  columns: readonly Column[],
  rows: readonly number[],
  aggregate: (rows: readonly number[]) => FeatureValue,
): FeatureValue {
  const groups = new Groups<number[]>(fields, () => []);
  for (const row of rows) {
    const values = columns.map((column) => {
      const error = column.errors?.get(row);
      if (error !== undefined) throw new EvaluationError(error);
      return column.values[row] ?? null;
    });
    const own = groups.of(values);
    if (!own) throw tooManyGroups();
    own.push(row);
  }
  return groups.structs(aggregate);
}

/** Comparison of times for sorting; rows without a time come first. */
function inTime(a: FeatureValue, b: FeatureValue): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return compareValues(a, b);
}
