/** Rows of has-many relations that the online store has: served where they are new enough. */

import { type StoredRows, storeKey } from "../../stores/online.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import { computeRows } from "../ops/rows-op.ts";
import type { SourceRows } from "../ops/rows-source.ts";
import type { CellId, Row, SlotId } from "../plan/ids.ts";
import type { PlanOp, PlanRows, PlanSlot } from "../plan/plan.ts";
import { type Awaitable, andThen, recovered } from "./awaitable.ts";
import type { RowsResults } from "./child-rows.ts";
import type { Run } from "./run.ts";
import { fresh, latestOf, storeUnread } from "./store-access.ts";

/** Rows that the store had, with what was computed of them. */
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

/**
 * Reads cells of one slot, whose keys are known. Without an answer of the store nothing is stored.
 */
export function readStoredRows(run: Run, slot: PlanSlot, cells: readonly CellId[]): Awaitable<StoredRowsRead> {
  const { plan, context } = run;
  const { online, scope } = context.deployment;
  const frame = plan.frame(slot.frame);
  const keySlot = frame.keySlot as SlotId;
  const keys = cells.map((cell) => storeKey(run.cells.value(run.cells.at(keySlot, run.cells.rowOf(cell)))));
  const stored = recovered<readonly (StoredRows | undefined)[]>(
    () => online.getRelation(scope, frame.namespace.name, keys, slot.feature.featureId as number, latestOf(run, cells)),
    (error) => {
      storeUnread(run, frame, error);
      return [];
    },
  );
  return andThen(stored, (found) => serve(run, slot, cells, found));
}

/** The rows that serve, with what is computed of them. */
function serve(run: Run, slot: PlanSlot, cells: readonly CellId[], read: readonly (StoredRows | undefined)[]): Awaitable<StoredRowsRead> {
  const op = run.plan.providerOf(slot) as PlanOp;
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
