/** Outputs of a run by columns. */

import type { FeatureValue } from "../../../domain/value.ts";
import { FIRST_ROW } from "../plan/ids.ts";
import type { PlanOutput } from "../plan/plan.ts";
import { type CellFailure, CellState } from "./cells.ts";
import { type ChildColumn, listFailures, rowsAsList } from "./child-rows.ts";
import type { Run } from "./run.ts";

/**
 * The values of an output for every row of a run, null where they failed, with the reasons of those
 * that did.
 */
export function outputColumn({ plan, cells, rows }: Run, position: number): Omit<ChildColumn, "feature"> {
  const { slot: id, pick, feature } = plan.outputs[position] as PlanOutput;
  const values = new Array<FeatureValue>(rows).fill(null);
  const failures = new Map<number, CellFailure>();
  if (id === undefined) return { values, failures };
  const { rowsOf } = plan.slot(id).feature;
  for (let row = FIRST_ROW; row < rows; row++) {
    const cell = cells.at(id, row);
    if (cells.state(cell) === CellState.FAILED) failures.set(row, cells.failure(cell) as CellFailure);
    else if (!cells.isOk(cell)) continue;
    else values[row] = rowsOf ? rowsAsList(cells.childRows(cell), pick) : cells.value(cell);
    if (feature.rowsOf) for (const failure of listFailures(cells.childRows(cell), pick)) if (!failures.has(row)) failures.set(row, failure);
  }
  return { values, failures };
}
