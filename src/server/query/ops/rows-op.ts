/** Finding the rows of has-many relations and computing their features, all rows of all parents together. */

import type { FeatureValue } from "../../../domain/value.ts";
import { answerCells } from "../answer/answer.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import type { PlanOp, PlanRows } from "../plan/plan.ts";
import { type CellFailure, CellState } from "../run/cells.ts";
import type { ChildColumn, ChildTable, RowsValue } from "../run/child-rows.ts";
import { Execution } from "../run/executor.ts";
import type { QueryTime } from "../run/query-time.ts";
import { keepRows } from "../run/stored-rows.ts";
import { fetchRows, type SourceRows } from "./rows-source.ts";

/** For each parent row its child rows, or why they cannot be had. */
export type RowsResults = readonly (RowsValue | CellFailure)[];

/** Finds child rows. Never rejects but by a fault of ours; at once when nothing has to be waited for. */
export function findRows(execution: Execution, op: PlanOp, parents: readonly number[]): RowsResults | Promise<RowsResults> {
  const rows = op.rows as PlanRows;
  const source = fetchRows(execution, op, rows, parents);
  return source instanceof Promise
    ? source.then((found) => computeRows(execution, op, parents, found, true))
    : computeRows(execution, op, parents, source, true);
}

/**
 * Computes what is needed of the rows that a source gave.
 * @param isFresh whether they are to be stored where the plan says so
 */
export function computeRows(
  execution: Execution,
  op: PlanOp,
  parents: readonly number[],
  source: SourceRows,
  isFresh: boolean,
): RowsResults | Promise<RowsResults> {
  const rows = op.rows as PlanRows;
  const time = rows.many.foreign.featureTime;
  const times = time && source.columns.get(time);
  const picked: number[] = [];
  const bounds: number[] = [0];
  const parentOf: number[] = [];
  for (let at = 0; at < parents.length; at++) {
    const group = source.groups[at] as readonly number[] | CellFailure;
    if (!("code" in group))
      for (const row of group)
        if (!times || isVisible(times[row], execution.timeOf(parents[at] as number))) {
          picked.push(row);
          parentOf.push(parents[at] as number);
        }
    bounds.push(picked.length);
  }
  const failures = new Map<number, CellFailure>();
  const columns = rows.givens.map((feature, position) => {
    const values = source.columns.get(feature);
    const broken = source.broken.get(feature);
    if (broken)
      for (const [at, row] of picked.entries()) {
        const failure = broken.get(row);
        if (failure) failures.set((rows.child.givenSlots[position] as number) * picked.length + at, failure);
      }
    return values ? picked.map((row) => values[row] as FeatureValue) : parentValues(execution, op, rows, feature, parentOf);
  });
  const isStored = isFresh && execution.plan.slots[op.outputs[0] ?? -1]?.stored;
  if (isStored) keepRows(execution, op, { parents, source, bounds, columns, failures });
  const finish = (run: Execution | undefined): RowsResults => {
    const read = run ? (position: number) => answerCells(run, position) : givenColumns(rows, columns, failures, picked.length);
    const { table, keptBefore } = tableOf(
      run,
      read,
      rows,
      picked.length,
      times ? undefined : (row) => execution.timeOf(parentOf[row] as number),
    );
    return source.groups.map((group, at): RowsValue | CellFailure =>
      "code" in group ? group : { table, from: keptBefore(bounds[at] as number), to: keptBefore(bounds[at + 1] as number) },
    );
  };
  if (picked.length === 0 || rows.isComplete) return finish(undefined);
  const run = new Execution(rows.child, picked.length, execution.context, execution.timesOf(parentOf));
  execution.children.push(run);
  execution.context.observer?.nested(run, op);
  const running = run.run(columns, failures);
  return running ? running.then(() => finish(run)) : finish(run);
}

/** The slot whose values the join says that a feature of the child rows has; -1 = it says nothing of it. */
export function parentSlot({ inputs }: PlanOp, { many }: PlanRows, feature: ScalarInfo): number {
  const local = many.join.find((pair) => pair.foreign === feature)?.local;
  return inputs.find((input) => input.parameter.feature === local || input.parameter.feature === feature)?.slot ?? -1;
}

function parentValues(
  execution: Execution,
  op: PlanOp,
  rows: PlanRows,
  feature: ScalarInfo,
  parentOf: readonly number[],
): readonly FeatureValue[] {
  const slot = parentSlot(op, rows, feature);
  return parentOf.map((parent) => {
    const cell = slot * execution.rows + parent;
    return slot >= 0 && execution.cells.state[cell] === CellState.OK ? (execution.cells.values[cell] as FeatureValue) : null;
  });
}

/** The outputs of a child plan whose values are all given: the columns as they are. */
function givenColumns(
  { child }: PlanRows,
  columns: readonly (readonly FeatureValue[])[],
  failures: ReadonlyMap<number, CellFailure>,
  count: number,
): (position: number) => Omit<ChildColumn, "feature"> {
  return (position) => {
    const slot = child.slots[child.outputs[position]?.slot ?? -1];
    const own = [...failures].filter(([cell]) => slot && Math.floor(cell / count) === slot.id);
    return { values: (slot && columns[slot.given]) ?? [], failures: new Map(own.map(([cell, failure]) => [cell % count, failure])) };
  };
}

/** Whether a row of that feature time is to be seen: a row without one is. Times are canonical text, whose order is theirs. */
function isVisible(time: FeatureValue | undefined, now: QueryTime): boolean {
  return typeof time !== "string" || time <= now.text;
}

/** The computed rows as a table; given the time that each is asked about at, without those whose computed feature time is after it. */
function tableOf(
  run: Execution | undefined,
  readColumn: (position: number) => Omit<ChildColumn, "feature">,
  rows: PlanRows,
  count: number,
  timeOf: ((row: number) => QueryTime) | undefined,
): { readonly table: ChildTable; readonly keptBefore: (row: number) => number } {
  const { child, many } = rows;
  const read = new Map<number, ChildColumn>();
  const column = (position: number): ChildColumn => {
    let known = read.get(position);
    if (!known) {
      const feature = (child.outputs[position] as (typeof child.outputs)[number]).feature;
      known = { feature, ...readColumn(position) };
      read.set(position, known);
    }
    return known;
  };
  const time = timeOf === undefined ? undefined : rows.columns.get(many.foreign.featureTime?.name ?? "");
  const times = time === undefined ? undefined : column(time).values;
  const kept: number[] = [];
  for (let row = 0; row < count; row++) {
    if (!times || !timeOf || isVisible(times[row], timeOf(row))) kept.push(row);
  }
  const all = kept.length === count;
  const keep = (one: ChildColumn): ChildColumn =>
    all
      ? one
      : {
          feature: one.feature,
          values: kept.map((row) => one.values[row] as FeatureValue),
          failures: new Map(
            kept.flatMap((row, at) => (one.failures.has(row) ? [[at, one.failures.get(row) as CellFailure] as const] : [])),
          ),
        };
  const nested = (position: number): (RowsValue | undefined)[] => {
    const slot = child.outputs[position]?.slot ?? -1;
    return kept.map((row) => run?.cells.rowsAt.get(slot * count + row));
  };
  const table: ChildTable = {
    rows: kept.length,
    columns: new Map([...rows.columns].map(([path, position]) => [path, keep(column(position))])),
    whole: rows.whole.map((position) => keep(column(position))),
    relations: new Map([...rows.relations].map(([path, position]) => [path, nested(position)])),
  };
  if (all) return { table, keptBefore: (row) => row };
  const before = new Int32Array(count + 1);
  for (let row = 0, next = 0; row < count; row++) {
    if (kept[next] === row) next++;
    before[row + 1] = next;
  }
  return { table, keptBefore: (row) => before[row] as number };
}
