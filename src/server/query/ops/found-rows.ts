/** Child rows as their source returned them, in the order of their parents. */

import type { FeatureValue } from "../../../domain/value.ts";
import { storeKey } from "../../stores/online/store.ts";
import type { ScalarInfo } from "../graph/index-types.ts";
import { FIRST_ROW, type Row, type SlotId } from "../plan/ids.ts";
import type { PlanOp, PlanRows } from "../plan/plan.ts";
import type { CellFailure } from "../run/cells.ts";
import { expiryOfSlot } from "../run/expiry.ts";
import type { GivenFailures, Run } from "../run/run.ts";
import type { SourceRows } from "./rows-source.ts";

/** Child rows as the input of a run of their plan: a contiguous range of them for each parent. */
export interface FoundRows {
  /** The rows of the run whose child rows they are. */
  readonly parents: readonly Row[];
  /** The start of each parent's range, and the end of the last one. */
  readonly bounds: readonly number[];
  /** For each child row the row of the run that it belongs to. */
  readonly parentOf: readonly Row[];
  /** For each feature that the source provides, the values of the child rows. */
  readonly columns: readonly (readonly FeatureValue[])[];
  /** Failed values, by slot and row of the plan of child rows. */
  readonly failures: GivenFailures;
}

/** Selects the rows of a source that are visible at the time of their parent. */
export function foundRows(run: Run, op: PlanOp, parents: readonly Row[], source: SourceRows): FoundRows {
  const rows = op.rows as PlanRows;
  const picked: number[] = [];
  const bounds: number[] = [0];
  const parentOf: Row[] = [];
  const time = rows.many.foreign.featureTime;
  const times = time && source.columns.get(time);
  for (const [at, parent] of parents.entries()) {
    const group = source.groups[at] as SourceRows["groups"][number];
    if (!("code" in group))
      for (const row of group)
        if (!times || isVisible(times[row], run.timeOf(parent).text)) {
          picked.push(row);
          parentOf.push(parent);
        }
    bounds.push(picked.length);
  }
  const columns = rows.givens.map((feature) => {
    const values = source.columns.get(feature);
    return values ? picked.map((row) => values[row] as FeatureValue) : parentValues(run, op, rows, feature, parentOf);
  });
  return { parents, bounds, parentOf, columns, failures: failuresOf(rows, picked, source) };
}

/**
 * Whether a row with a feature time is visible at a time; a row without one always is. Times are
 * canonical text, which sorts by time.
 */
export function isVisible(time: FeatureValue | undefined, nowText: string): boolean {
  return typeof time !== "string" || time <= nowText;
}

function failuresOf({ givens, child }: PlanRows, picked: readonly number[], { broken }: SourceRows): GivenFailures {
  const failures = new Map<SlotId, Map<Row, CellFailure>>();
  for (const [position, feature] of givens.entries()) {
    const known = broken.get(feature);
    if (!known) continue;
    const own = new Map<Row, CellFailure>();
    for (let at = FIRST_ROW; at < picked.length; at++) {
      const failure = known.get(picked[at] as number);
      if (failure) own.set(at, failure);
    }
    failures.set(child.givenSlots[position] as SlotId, own);
  }
  return failures;
}

/**
 * The parent's slot whose value the join gives to a feature of the child rows; undefined when the
 * feature is not joined on.
 */
function parentSlot({ inputs }: PlanOp, { many }: PlanRows, feature: ScalarInfo): SlotId | undefined {
  const local = many.join.find((pair) => pair.foreign === feature)?.local;
  return inputs.find((input) => input.parameter.feature === local || input.parameter.feature === feature)?.slot;
}

function parentValues({ cells }: Run, op: PlanOp, rows: PlanRows, feature: ScalarInfo, parentOf: readonly Row[]): readonly FeatureValue[] {
  const slot = parentSlot(op, rows, feature);
  return parentOf.map((parent) => {
    const cell = slot !== undefined && cells.at(slot, parent);
    return cell !== false && cells.isOk(cell) ? cells.value(cell) : null;
  });
}

/**
 * Queues rows to be stored when the query ends. Rows with a failed value are not stored, nor those
 * of a parent whose key is not known.
 */
export function keepFoundRows(run: Run, op: PlanOp, source: SourceRows, { parents, bounds, columns, failures }: FoundRows): void {
  const { plan, cells } = run;
  const rows = op.rows as PlanRows;
  const slot = plan.outputOf(op);
  const frame = plan.frame(slot.frame);
  const failed = new Set<number>([...failures.values()].flatMap((own) => [...own.keys()]));
  const known = rows.givens.flatMap((feature, position) => {
    const isKnown = source.columns.has(feature) || parentSlot(op, rows, feature) !== undefined;
    return isKnown && feature.featureId !== undefined ? [[feature.featureId, columns[position] ?? []] as const] : [];
  });
  for (const [at, parent] of parents.entries()) {
    const key = cells.at(frame.keySlot as SlotId, parent);
    if (!cells.isOk(key) || cells.value(key) === null || "code" in (source.groups[at] as object)) continue;
    const [from, to] = [bounds[at] as number, bounds[at + 1] as number];
    if (hasAny(failed, from, to)) continue;
    const observedAt = run.timeOf(parent).ms;
    run.foundRows.push({
      namespace: frame.namespace.name,
      key: storeKey(cells.value(key)),
      relationId: slot.feature.featureId as number,
      rows: to - from,
      columns: new Map(known.map(([id, values]) => [id, values.slice(from, to)])),
      observedAt,
      resolver: op.resolver?.fqn ?? "",
      ...expiryOfSlot(run, slot, observedAt),
    });
  }
}

function hasAny(numbers: ReadonlySet<number>, from: number, to: number): boolean {
  for (let number = from; number < to; number++) if (numbers.has(number)) return true;
  return false;
}
