/** Handing over of the values that a run computed. */

import type { FeatureValue } from "../../../domain/value.ts";
import { storeKey } from "../../stores/online/store.ts";
import type { FreshColumn } from "../../writes/sink.ts";
import { FIRST_ROW, type FrameId, type SlotId } from "../plan/ids.ts";
import type { PlanOp, PlanSlot } from "../plan/plan.ts";
import { type Awaitable, andThen } from "./awaitable.ts";
import { CellOrigin } from "./cells.ts";
import { providerOf } from "./choice.ts";
import type { Run } from "./run.ts";

/** Gives columns without the values that the history has already. */
export type Unstored = (columns: readonly FreshColumn[]) => Promise<readonly FreshColumn[]>;

/**
 * Hands the values that were computed, of rows whose key is known, to the deployment's sink. A
 * promise when the answer has to wait for the sink.
 * @param present epoch milliseconds; what was computed for a later time is not handed over
 * @param unstored what is left to be stored; default: all
 */
export function handOver(run: Run, present: number, unstored?: Unstored): Awaitable<void> {
  const { sink } = run.context.deployment;
  if (!sink) return;
  const columns = withChildren(run).flatMap((run) => freshColumns(run, present));
  if (columns.length === 0) return;
  if (unstored)
    return unstored(columns).then(async (left) => {
      if (left.length > 0) await sink.take(left);
    });
  return andThen(sink.take(columns), () => {});
}

/** A run and those of the child rows that it needed. */
function withChildren(run: Run): Run[] {
  return run.children.length === 0 ? [run] : [run, ...run.children.flatMap(withChildren)];
}

function freshColumns(run: Run, present: number): FreshColumn[] {
  const { plan, cells } = run;
  if (!cells.hasFresh) return [];
  const keysOf = new Map<FrameId, RowKeys>();
  return plan.slots.flatMap((slot) => {
    const { featureId, rowsOf } = slot.feature;
    const { keySlot } = plan.frame(slot.frame);
    if (featureId === undefined || rowsOf || keySlot === undefined) return [];
    const keys = keysOf.get(slot.frame) ?? [];
    keysOf.set(slot.frame, keys);
    const [first, ...others] = plan.providersOf(slot);
    return [first, ...others].flatMap((op) => {
      const column = freshColumn(run, slot, keySlot, keys, present, others.length > 0 ? op : undefined);
      return column ? [{ featureId, resolver: op?.resolver?.fqn ?? "", ...column }] : [];
    });
  });
}

/** The store's keys of the rows of a frame, computed on first use. */
type RowKeys = (string | undefined)[];

/**
 * The computed values of a slot whose rows have a key; undefined = there are none.
 * @param by takes those alone that this op computed; undefined = all
 */
function freshColumn(
  run: Run,
  slot: PlanSlot,
  keySlot: SlotId,
  keys: RowKeys,
  present: number,
  by: PlanOp | undefined,
): Pick<FreshColumn, "keys" | "values" | "observedAt"> | undefined {
  const { rows, cells } = run;
  let column: { keys: string[]; values: FeatureValue[]; observedAt: number[] } | undefined;
  for (let row = FIRST_ROW; row < rows; row++) {
    const cell = cells.at(slot.id, row);
    if (cells.origin(cell) !== CellOrigin.COMPUTED || run.timeOf(row).ms > present) continue;
    const keyCell = cells.at(keySlot, row);
    if (!cells.isOk(keyCell) || cells.value(keyCell) === null || (by && providerOf(run, slot, row) !== by)) continue;
    const key = keys[row] ?? storeKey(cells.value(keyCell));
    keys[row] = key;
    column ??= { keys: [], values: [], observedAt: [] };
    column.keys.push(key);
    column.values.push(cells.value(cell));
    column.observedAt.push(cells.observed(cell));
  }
  return column;
}
