/** Rows of has-many relations that the online store has: served where they are new enough. */

import { type FoundRows, type RowsRead, type StoredRows, storeKey } from "../../stores/online/store.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import { computeRows } from "../ops/rows-op.ts";
import type { SourceRows } from "../ops/rows-source.ts";
import type { CellId, Row, SlotId } from "../plan/ids.ts";
import type { PlanFrame, PlanOp, PlanRows, PlanSlot } from "../plan/plan.ts";
import { type Awaitable, andThen } from "./awaitable.ts";
import type { RowsResults } from "./child-rows.ts";
import type { Run } from "./run.ts";
import { fresh, latestOf } from "./store-access.ts";

/** Stored rows, with the results computed from them. */
export interface StoredRowsFound {
  readonly op: PlanOp;
  /** The rows of the run whose child rows they are. */
  readonly rows: readonly Row[];
  readonly results: RowsResults;
  readonly stored: readonly StoredRows[];
}

/** The result of a read. */
export interface StoredRowsRead {
  readonly found: StoredRowsFound | undefined;
  /** The rows of the run for which nothing that serves is stored. */
  readonly missed: readonly Row[];
}

/** The read of cells of one slot, whose keys are known. */
export function rowsReadOf(run: Run, frame: PlanFrame, slot: PlanSlot, cells: readonly CellId[]): RowsRead {
  const keySlot = frame.keySlot as SlotId;
  return {
    namespace: frame.namespace.name,
    keys: cells.map((cell) => storeKey(run.cells.value(run.cells.at(keySlot, run.cells.rowOf(cell))))),
    relationId: slot.feature.featureId as number,
    asOf: latestOf(run, cells),
  };
}

/**
 * Computes what is wanted of the rows that the store had for cells of one slot, where they are
 * fresh enough and whole.
 * @param read undefined = the store could not be read
 */
export function serveRows(run: Run, slot: PlanSlot, cells: readonly CellId[], read: FoundRows | undefined): Awaitable<StoredRowsRead> {
  if (!read) return { found: undefined, missed: cells.map((cell) => run.cells.rowOf(cell)) };
  const op = run.plan.providersOf(slot)[0] as PlanOp;
  const { used } = op.rows as PlanRows;
  const rows: Row[] = [];
  const stored: StoredRows[] = [];
  const missed: Row[] = [];
  for (const [index, cell] of cells.entries()) {
    const row = run.cells.rowOf(cell);
    const known = fresh(run, slot, cell, read[index]);
    const lacking = known && [...used].find((feature) => !known.columns.has(feature.featureId ?? -1));
    if (lacking) run.context.trace?.missed(run.cells, cell, `stored without ${lacking.fqn}`);
    if (!known || lacking) missed.push(row);
    else {
      rows.push(row);
      stored.push(known);
    }
  }
  if (rows.length === 0) return { found: undefined, missed };
  const results = computeRows(run, op, rows, joined(used, stored), false);
  return andThen(results, (done) => ({ found: { op, rows, results: done, stored }, missed }));
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
