/**
 * The rows of has-many relations in a running query: tables of child rows, with a contiguous range
 * for each parent row.
 */

import type { FeatureValue } from "../../../domain/value.ts";
import type { ChildRows, References } from "../../expressions/compiled.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import type { RowsNeeds } from "../plan/plan.ts";
import type { CellFailure } from "./cells.ts";

/** A column of child rows. */
export interface ChildColumn {
  readonly feature: ScalarInfo;
  /** Null where it failed. */
  readonly values: readonly FeatureValue[];
  /** By row of the table. */
  readonly failures: ReadonlyMap<number, CellFailure>;
}

/** Child rows of many parents, by columns. */
export interface ChildTable {
  readonly rows: number;
  /** By path from the child's class. */
  readonly columns: ReadonlyMap<string, ChildColumn>;
  /** The child's available scalars. */
  readonly whole: readonly ChildColumn[];
  /** Rows of the child's own has-many relations, by path, for each row. */
  readonly relations: ReadonlyMap<string, readonly (RowsValue | undefined)[]>;
}

/** The child rows of one parent row. */
export interface RowsValue {
  readonly table: ChildTable;
  readonly from: number;
  readonly to: number;
}

/** For each parent row its child rows, or the failure. */
export type RowsResults = readonly (RowsValue | CellFailure)[];

/** The first failure among what is needed of child rows. */
export function firstFailure(value: RowsValue | undefined, needs: RowsNeeds): CellFailure | undefined {
  if (!value) return undefined;
  const columns = [...needs.paths].flatMap((path) => value.table.columns.get(path) ?? []);
  for (const column of needs.all ? [...columns, ...value.table.whole] : columns) {
    const [failure] = failuresIn(column, value);
    if (failure) return failure;
  }
  for (const [path, inner] of needs.relations)
    for (let row = value.from; row < value.to; row++) {
      const failure = firstFailure(value.table.relations.get(path)?.[row], inner);
      if (failure) return failure;
    }
  return undefined;
}

/** The failures of a column among the rows of a parent. */
export function failuresIn(column: ChildColumn, { from, to }: RowsValue): CellFailure[] {
  if (column.failures.size === 0) return [];
  return [...column.failures].flatMap(([row, failure]) => (row >= from && row < to ? [failure] : []));
}

/** The child rows of a batch of parents as an expression reads them. */
export function childRows(values: readonly (RowsValue | undefined)[], references: References): ChildRows {
  const offsets = new Array<number>(values.length + 1);
  offsets[0] = 0;
  let total = 0;
  let absent: Set<number> | undefined;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (!value) absent = (absent ?? new Set()).add(i);
    total += value ? value.to - value.from : 0;
    offsets[i + 1] = total;
  }
  const columns = new Map(references.columns.map((path) => [path, gather(values, total, (table) => table.columns.get(path)?.values)]));
  const relations = new Map(
    references.relations.map((relation) => [
      relation.path,
      childRows(
        gather(values, total, (table) => table.relations.get(relation.path)),
        relation.references,
      ),
    ]),
  );
  return { rows: total, offsets, absent, columns, relations };
}

/** The ranges of a column concatenated; the column itself when they cover it. */
export function gather<T>(
  values: readonly (RowsValue | undefined)[],
  total: number,
  columnOf: (table: ChildTable) => readonly T[] | undefined,
): readonly T[] {
  const first = values.find((value) => value !== undefined);
  if (first && first.table.rows === total && isWhole(values, first.table)) return columnOf(first.table) ?? [];
  const result: T[] = [];
  for (const value of values) {
    const column = value && columnOf(value.table);
    for (let row = value?.from ?? 0; column && row < (value?.to ?? 0); row++) result.push(column[row] as T);
  }
  return result;
}

function isWhole(values: readonly (RowsValue | undefined)[], table: ChildTable): boolean {
  let at = 0;
  for (const value of values) {
    if (!value) continue;
    if (value.table !== table || value.from !== at) return false;
    at = value.to;
  }
  return at === table.rows;
}

/** The child rows as a list of objects, or the values of one feature of them. */
export function rowsAsList(value: RowsValue | undefined, pick: string | undefined): FeatureValue[] {
  if (!value) return [];
  const { table, from, to } = value;
  if (pick !== undefined) return table.columns.get(pick)?.values.slice(from, to) ?? [];
  return Array.from({ length: to - from }, (_, at) =>
    Object.fromEntries(table.whole.map((column) => [column.feature.name, column.values[from + at] as FeatureValue])),
  );
}

/** The reasons why values of an output of child rows are null. */
export function listFailures(value: RowsValue | undefined, pick: string | undefined): CellFailure[] {
  if (!value) return [];
  const column = pick === undefined ? undefined : value.table.columns.get(pick);
  return (pick === undefined ? value.table.whole : column ? [column] : []).flatMap((one) => failuresIn(one, value));
}
