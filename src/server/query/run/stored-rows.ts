/** Rows of has-many relations in the online store: served where they are new enough, and kept when they were found. */

import type { FeatureValue } from "../../../domain/value.ts";
import { type FoundRows, type RowsRead, type StoredRows, storeKey } from "../../stores/online/store.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import { computeRows, parentSlot, type RowsResults } from "../ops/rows-op.ts";
import type { SourceRows } from "../ops/rows-source.ts";
import type { PlanFrame, PlanOp, PlanRows, PlanSlot } from "../plan/plan.ts";
import { type CellFailure, CellState } from "./cells.ts";
import type { Execution } from "./executor.ts";
import { expiryOfSlot, fresh, latestOf } from "./store-access.ts";

/** Rows that the store had, with what was computed of them. */
export interface StoredRowsFound {
  readonly op: PlanOp;
  /** The rows of the run whose child rows they are. */
  readonly rows: readonly number[];
  readonly results: RowsResults;
  readonly stored: readonly StoredRows[];
}

/** What came of a read. */
export interface StoredRowsRead {
  readonly found: StoredRowsFound | undefined;
  /** The rows of the run for which nothing that serves is stored. */
  readonly missed: readonly number[];
}

/** The read of cells of one slot, whose keys are known. */
export function rowsReadOf(execution: Execution, frame: PlanFrame, slot: PlanSlot, cells: readonly number[]): RowsRead {
  return {
    namespace: frame.namespace.name,
    keys: cells.map((cell) => keyOf(execution, frame, cell % execution.rows)),
    relationId: slot.feature.featureId as number,
    asOf: latestOf(execution, cells),
  };
}

function keyOf(execution: Execution, frame: PlanFrame, row: number): string {
  return storeKey(execution.cells.values[frame.keySlot * execution.rows + row] as FeatureValue);
}

/**
 * Computes what is wanted of the rows that the store had for cells of one slot, where they are fresh enough and whole.
 * @param read undefined = the store could not be read
 */
export function serveRows(
  execution: Execution,
  slot: PlanSlot,
  cells: readonly number[],
  read: FoundRows | undefined,
): StoredRowsRead | Promise<StoredRowsRead> {
  if (!read) return { found: undefined, missed: cells.map((cell) => cell % execution.rows) };
  const op = execution.plan.ops[slot.op] as PlanOp;
  const { used } = op.rows as PlanRows;
  const rows: number[] = [];
  const stored: StoredRows[] = [];
  const missed: number[] = [];
  for (const [index, cell] of cells.entries()) {
    const row = cell % execution.rows;
    const known = fresh(execution, slot, cell, read[index]);
    const lacking = known && [...used].find((feature) => !known.columns.has(feature.featureId ?? -1));
    if (lacking) execution.context.trace?.missed(execution.cells, cell, `stored without ${lacking.fqn}`);
    if (!known || lacking) missed.push(row);
    else {
      rows.push(row);
      stored.push(known);
    }
  }
  if (rows.length === 0) return { found: undefined, missed };
  const results = computeRows(execution, op, rows, joined(used, stored), false);
  const finish = (done: RowsResults): StoredRowsRead => ({ found: { op, rows, results: done, stored }, missed });
  return results instanceof Promise ? results.then(finish) : finish(results);
}

/** Stored rows of several parents, one after another. */
function joined(used: ReadonlySet<ScalarInfo>, stored: readonly StoredRows[]): SourceRows {
  const groups: number[][] = [];
  let total = 0;
  for (const { rows } of stored) {
    const from = total;
    groups.push(Array.from({ length: rows }, (_, i) => from + i));
    total += rows;
  }
  const columns = new Map(
    [...used].map((feature) => [feature, stored.flatMap((one) => one.columns.get(feature.featureId ?? -1) ?? [])] as const),
  );
  return { groups, columns, broken: new Map(), rows: total };
}

/** Rows as they were found: for each parent a stretch of the columns, which are in the order of what the source gives. */
interface KeptRows {
  readonly parents: readonly number[];
  readonly source: SourceRows;
  readonly bounds: readonly number[];
  readonly columns: readonly (readonly FeatureValue[])[];
  /** Cells of the plan of child rows that have no value. */
  readonly failures: ReadonlyMap<number, CellFailure>;
}

/** Has rows stored when the query ends. Rows with a value that could not be had are not stored, nor those of a parent whose key is not known. */
export function keepRows(execution: Execution, op: PlanOp, { parents, source, bounds, columns, failures }: KeptRows): void {
  const { plan, cells } = execution;
  const rows = op.rows as PlanRows;
  const slot = plan.slots[op.outputs[0] as number] as PlanSlot;
  const frame = plan.frames[slot.frame] as PlanFrame;
  const count = bounds.at(-1) ?? 0;
  const failed = new Set([...failures.keys()].map((cell) => cell % count));
  const known = rows.givens.flatMap((feature, position) => {
    const isKnown = source.columns.has(feature) || parentSlot(op, rows, feature) >= 0;
    return isKnown && feature.featureId !== undefined ? [[feature.featureId, columns[position] ?? []] as const] : [];
  });
  for (const [at, parent] of parents.entries()) {
    const observedAt = execution.timeOf(parent).ms;
    const key = frame.keySlot * execution.rows + parent;
    if (cells.state[key] !== CellState.OK || cells.values[key] === null || "code" in (source.groups[at] as object)) continue;
    const from = bounds[at] as number;
    const to = bounds[at + 1] as number;
    let whole = true;
    for (let row = from; row < to; row++) whole &&= !failed.has(row);
    if (!whole) continue;
    execution.foundRows.push({
      namespace: frame.namespace.name,
      key: keyOf(execution, frame, parent),
      relationId: slot.feature.featureId as number,
      rows: to - from,
      columns: new Map(known.map(([id, values]) => [id, values.slice(from, to)])),
      observedAt,
      resolver: op.resolver?.fqn ?? "",
      ...expiryOfSlot(execution, slot, observedAt),
    });
  }
}
