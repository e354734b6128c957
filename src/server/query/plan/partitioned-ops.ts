/** The ops of a plan that are given all rows of a partition in one call. */

import type { OpId, SlotId } from "./ids.ts";
import type { Plan, PlanOp } from "./plan.ts";

/**
 * Whether all rows that an op will be wanted for must be there before it begins, because its
 * resolver, or one of the plan of its child rows, is partitioned.
 */
export function gathersRows({ resolver, rows }: Pick<PlanOp, "resolver" | "rows">): boolean {
  return (resolver?.partitionedBy.length ?? 0) > 0 || (rows?.child.ops.some(({ gathers }) => gathers) ?? false);
}

/** The ops of a plan whose resolvers are partitioned. */
export function partitionedOps({ ops }: Plan): readonly PlanOp[] {
  return ops.filter(({ gathers, resolver }) => gathers && (resolver?.partitionedBy.length ?? 0) > 0);
}

/** The first partitioned op among the plans of child rows; undefined = there is none. */
export function partitionedBelow({ ops }: Plan): PlanOp | undefined {
  for (const { gathers, rows } of ops) {
    const found = gathers && rows ? (partitionedOps(rows.child)[0] ?? partitionedBelow(rows.child)) : undefined;
    if (found) return found;
  }
  return undefined;
}

/** Whether the rows that an op is wanted for may depend on what another one gives. */
export function dependsOn(plan: Plan, op: OpId, other: OpId): boolean {
  const seen = new Set<OpId>();
  const waiting: OpId[] = [op];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const { frame, inputSlots } = plan.op(id);
    const { gateSlots, keySlot, rowOps } = plan.frame(frame);
    waiting.push(
      ...rowOps,
      ...[...inputSlots, ...gateSlots, ...(keySlot === undefined ? [] : [keySlot])].flatMap((slot) => givers(plan, slot)),
    );
  }
  seen.delete(op);
  return seen.has(other);
}

function givers(plan: Plan, id: SlotId): OpId[] {
  const { choices, op } = plan.slot(id);
  const conditions = choices.flatMap(({ condition }) => plan.slot(condition).op ?? []);
  return [...conditions, ...choices.map((choice) => choice.op), ...(op === undefined ? [] : [op])];
}
