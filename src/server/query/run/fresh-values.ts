/** Handing over what an execution computed. */

import type { FeatureValue } from "../../../domain/value.ts";
import { storeKey } from "../../stores/online/store.ts";
import type { FreshColumn } from "../../writes/sink.ts";
import type { PlanFrame } from "../plan/plan.ts";
import { CellOrigin, CellState } from "./cells.ts";
import type { Execution } from "./executor.ts";

/**
 * Hands the values that were computed, of rows whose key is known, to the deployment's sink. A promise when the answer has to wait for the sink.
 * @param present epoch milliseconds; what was computed for a later time is not handed over
 */
export function handOver(execution: Execution, present: number): undefined | Promise<void> {
  const { sink } = execution.context.deployment;
  if (!sink) return undefined;
  const columns = withChildren(execution).flatMap((run) => freshColumns(run, present));
  if (columns.length === 0) return undefined;
  const taking = sink.take(columns);
  return typeof taking === "boolean" ? undefined : taking.then(() => undefined);
}

/** A run and those of the child rows that it needed. */
function withChildren(execution: Execution): Execution[] {
  return execution.children.length === 0 ? [execution] : [execution, ...execution.children.flatMap(withChildren)];
}

function freshColumns(execution: Execution, present: number): FreshColumn[] {
  const { plan, rows, cells } = execution;
  if (!cells.hasFresh) return [];
  const columns: FreshColumn[] = [];
  const frameKeys: (string | undefined)[][] = [];
  for (const slot of plan.slots) {
    const { featureId } = slot.feature;
    const frame = plan.frames[slot.frame] as PlanFrame;
    if (featureId === undefined || slot.feature.rowsOf || frame.keySlot < 0) continue;
    let column: { keys: string[]; values: FeatureValue[]; observedAt: number[] } | undefined;
    for (let row = 0; row < rows; row++) {
      const cell = slot.id * rows + row;
      if (cells.origin[cell] !== CellOrigin.COMPUTED || execution.timeOf(row).ms > present) continue;
      frameKeys[frame.id] ??= [];
      const keys = frameKeys[frame.id] as (string | undefined)[];
      const keyCell = frame.keySlot * rows + row;
      if (cells.state[keyCell] !== CellState.OK || cells.values[keyCell] === null) continue;
      const key = keys[row] ?? storeKey(cells.values[keyCell] as FeatureValue);
      keys[row] = key;
      column ??= { keys: [], values: [], observedAt: [] };
      column.keys.push(key);
      column.values.push(cells.values[cell] as FeatureValue);
      column.observedAt.push(cells.observed[cell] as number);
    }
    if (column) columns.push({ featureId, resolver: plan.ops[slot.op]?.resolver?.fqn ?? "", ...column });
  }
  return columns;
}
