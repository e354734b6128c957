/**
 * Execution of `rows` operations: the rows of has-many relations are found, and their features
 * computed for all parents together.
 */

import type { FeatureValue } from "../../../domain/value.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanOp, PlanRows } from "../plan/plan.ts";
import { type Awaitable, andThen } from "../run/awaitable.ts";
import type { CellFailure } from "../run/cells.ts";
import type { ChildColumn, ChildTable, RowsResults, RowsValue } from "../run/child-rows.ts";
import { verdictOf } from "../run/op-inputs.ts";
import { outputColumn } from "../run/output-column.ts";
import type { Run } from "../run/run.ts";
import { settleRows } from "../run/settle-results.ts";
import { type FoundRows, foundRows, isVisible, keepFoundRows } from "./found-rows.ts";
import type { Op } from "./op.ts";
import { fetchRows, type SourceRows } from "./rows-source.ts";

/** Finds child rows, and computes their needed features. */
export const rowsOp: Op<RowsResults> = {
  verdict: verdictOf,
  run: (run, op, parents) =>
    andThen(fetchRows(run, op, op.rows as PlanRows, parents), (source) => computeRows(run, op, parents, source, true)),
  settle(settlement, op, rows, results) {
    settleRows(settlement, op, rows, results);
    return undefined;
  },
};

/**
 * Computes the needed features of the rows that a source returned.
 * @param isFresh whether they are to be stored where the plan says so
 */
export function computeRows(run: Run, op: PlanOp, parents: readonly Row[], source: SourceRows, isFresh: boolean): Awaitable<RowsResults> {
  const rows = op.rows as PlanRows;
  const found = foundRows(run, op, parents, source);
  if (isFresh && run.plan.outputOf(op).stored) keepFoundRows(run, op, source, found);
  const count = found.parentOf.length;
  if (count === 0 || rows.isComplete) return resultsOf(run, rows, source, found, undefined);
  const child = run.nested(op, rows.child, count, run.timesOf(found.parentOf));
  return andThen(child.execute(found.columns, found.failures), () => resultsOf(run, rows, source, found, child));
}

/** The child rows of each parent. */
function resultsOf(run: Run, rows: PlanRows, source: SourceRows, found: FoundRows, child: Run | undefined): RowsResults {
  const { featureTime } = rows.many.foreign;
  const isTimed = featureTime !== undefined && source.columns.has(featureTime);
  const columns = new TableColumns(rows, found, child);
  const kept = isTimed ? undefined : columns.visibleAt((row) => run.timeOf(found.parentOf[row] as Row).text);
  const table = tableOf(rows, columns, found.parentOf.length, kept);
  const keptBefore = positionsIn(found.parentOf.length, kept);
  return source.groups.map((group, at): RowsValue | CellFailure =>
    "code" in group ? group : { table, from: keptBefore(found.bounds[at] as number), to: keptBefore(found.bounds[at + 1] as number) },
  );
}

/**
 * The outputs of a plan of child rows by their position, each read once: of its run, or as they
 * were found where nothing had to be run.
 */
class TableColumns {
  readonly #read = new Map<number, ChildColumn>();

  constructor(
    readonly rows: PlanRows,
    readonly found: FoundRows,
    readonly child: Run | undefined,
  ) {}

  at(position: number): ChildColumn {
    let known = this.#read.get(position);
    if (!known) {
      const { feature } = this.rows.child.outputs[position] as PlanRows["child"]["outputs"][number];
      known = { feature, ...(this.child ? outputColumn(this.child, position) : this.#given(position)) };
      this.#read.set(position, known);
    }
    return known;
  }

  #given(position: number): Omit<ChildColumn, "feature"> {
    const { child } = this.rows;
    const slot = child.outputs[position]?.slot;
    if (slot === undefined) return { values: [], failures: NO_FAILURES };
    return { values: this.found.columns[child.slot(slot).given] ?? [], failures: this.found.failures.get(slot) ?? NO_FAILURES };
  }

  /** The rows whose computed feature time is not after the row's query time; undefined = all. */
  visibleAt(timeTextOf: (row: number) => string): readonly number[] | undefined {
    const { many, columns } = this.rows;
    const position = columns.get(many.foreign.featureTime?.name ?? "");
    if (position === undefined) return undefined;
    const { values } = this.at(position);
    const kept: number[] = [];
    for (let row = 0; row < this.found.parentOf.length; row++) if (isVisible(values[row], timeTextOf(row))) kept.push(row);
    return kept.length === this.found.parentOf.length ? undefined : kept;
  }

  /** Rows of a has-many relation of the child, by child row. */
  relationAt(position: number): readonly (RowsValue | undefined)[] {
    const { child } = this;
    const slot = this.rows.child.outputs[position]?.slot;
    const { length } = this.found.parentOf;
    if (!child || slot === undefined) return new Array<undefined>(length).fill(undefined);
    return Array.from({ length }, (_, row) => child.cells.childRows(child.cells.at(slot, row as Row)));
  }
}

const NO_FAILURES: ReadonlyMap<number, CellFailure> = new Map();

/** The rows as a table: those that are kept, or all. */
function tableOf(rows: PlanRows, columns: TableColumns, count: number, kept: readonly number[] | undefined): ChildTable {
  const column = (position: number) => (kept ? picked(columns.at(position), kept) : columns.at(position));
  const relation = (position: number) => {
    const all = columns.relationAt(position);
    return kept ? kept.map((row) => all[row]) : all;
  };
  return {
    rows: kept?.length ?? count,
    columns: new Map([...rows.columns].map(([path, position]) => [path, column(position)])),
    whole: rows.whole.map(column),
    relations: new Map([...rows.relations].map(([path, position]) => [path, relation(position)])),
  };
}

function picked({ feature, values, failures }: ChildColumn, kept: readonly number[]): ChildColumn {
  const own = kept.flatMap((row, at) => (failures.has(row) ? [[at, failures.get(row) as CellFailure] as const] : []));
  return { feature, values: kept.map((row) => values[row] as FeatureValue), failures: new Map(own) };
}

/** The number of rows before a row that are kept. */
function positionsIn(count: number, kept: readonly number[] | undefined): (row: number) => number {
  if (!kept) return (row) => row;
  const before = new Int32Array(count + 1);
  for (let row = 0, next = 0; row < count; row++) {
    if (kept[next] === row) next++;
    before[row + 1] = next;
  }
  return (row) => before[row] as number;
}
