/** Plans in words: what would answer a query, before anything is run. */

import { formatDuration } from "../../../domain/duration.ts";
import { readableName } from "../../../domain/name.ts";
import type { SlotId } from "../plan/ids.ts";
import type { Plan, PlanSlot } from "../plan/plan.ts";
import { nameResolver } from "../plan/plan-reasons.ts";
import { conditionWords, OP_DESCRIPTIONS } from "./op-descriptions.ts";

/** A step of a plan: the call of a resolver, a join, an expression, or what is done with rows. */
export interface DescribedStep {
  /** Label of its kind, such as `SqlResolver`. */
  readonly kind: string;
  /** The resolver, the feature of an expression, or the relation of rows; empty = a join. */
  readonly provider: string;
  /** Features that it takes, by their paths. */
  readonly inputs: readonly string[];
  /** Features that it gives, by their paths. */
  readonly outputs: readonly string[];
}

/** A feature of a plan. */
export interface DescribedFeature {
  /** Its path from the root class. */
  readonly field: string;
  readonly is_given: boolean;
  /** Index of the step that gives it; null = none does. */
  readonly step: number | null;
  /**
   * Indexes of steps with conditions, in their order: the first whose condition is true for a row
   * gives it instead.
   */
  readonly conditional_steps: readonly number[];
  /** Oldest stored value that is served, as text; null = the online store is not read. */
  readonly max_age: string | null;
  /** Whether a fresh value goes to the online store. */
  readonly is_stored: boolean;
  /** Why other providers were not chosen. */
  readonly notes: readonly string[];
}

/** A plan. */
export interface DescribedPlan {
  /** The same for queries of the same shape. */
  readonly plan_hash: string;
  /** The outputs; one that nothing can give has a reason. */
  readonly outputs: readonly { readonly field: string; readonly reason: string | null }[];
  readonly features: readonly DescribedFeature[];
  /** In no particular order: a step runs once its inputs are there. */
  readonly steps: readonly DescribedStep[];
  /** The same as a text tree, from each output to its inputs. */
  readonly explain: string;
}

/** Describes a plan. */
export function describePlan(plan: Plan): DescribedPlan {
  const pathOf = (slot: SlotId): string => readableName(plan.slot(slot).path);
  return {
    plan_hash: plan.hash,
    outputs: plan.outputs.map(({ path, slot, reason }) => ({
      field: readableName(path),
      reason: slot === undefined ? (reason ?? "nothing provides it") : null,
    })),
    features: plan.slots.map((slot) => {
      return {
        field: pathOf(slot.id),
        is_given: slot.given >= 0,
        step: slot.op ?? null,
        conditional_steps: slot.choices.map(({ op }) => op),
        max_age: slot.readMs === 0 ? null : ageText(slot.readMs),
        is_stored: slot.stored,
        notes: slot.notes,
      };
    }),
    steps: plan.ops.map((op) => ({
      kind: OP_DESCRIPTIONS[op.kind].label,
      provider: OP_DESCRIPTIONS[op.kind].provider(plan, op),
      inputs: op.inputSlots.map(pathOf),
      outputs: op.outputs.map(pathOf),
    })),
    explain: ["Output", ...treeOf(plan)].join("\n"),
  };
}

/** The lines of a tree from each output to its inputs, each feature once. */
function treeOf(plan: Plan): string[] {
  const lines: string[] = [];
  const seen = new Set<SlotId>();
  const describe = (slot: PlanSlot, indent: string, isLast: boolean): void => {
    const isAgain = seen.has(slot.id);
    seen.add(slot.id);
    lines.push(`${indent}${isLast ? "└─ " : "├─ "}${readableName(slot.path)}${isAgain ? " (above)" : ""}`);
    if (isAgain) return;
    const inner = `${indent}${isLast ? "   " : "│  "}`;
    const ops = plan.providersOf(slot);
    const taken = ops.length > 0 ? ops.flatMap(({ inputSlots }) => inputSlots) : plan.frame(slot.frame).gateSlots;
    const children = slot.given >= 0 ? [] : [...new Set([...slot.choices.map(({ condition }) => condition), ...taken])];
    const bar = children.length > 0 ? "│  " : "   ";
    for (const text of provenanceOf(plan, slot)) lines.push(`${inner}${bar}${text}`);
    for (const [position, child] of children.entries()) describe(plan.slot(child), inner, position === children.length - 1);
  };
  for (const [position, { path, reason, slot }] of plan.outputs.entries()) {
    const isLast = position === plan.outputs.length - 1;
    if (slot !== undefined) describe(plan.slot(slot), "", isLast);
    else lines.push(`${isLast ? "└─ " : "├─ "}${readableName(path)}: ${(reason ?? "").replaceAll("\n", " ")}`);
  }
  return lines;
}

function provenanceOf(plan: Plan, slot: PlanSlot): string[] {
  if (slot.given >= 0) return ["Given"];
  const read = slot.readMs === 0 ? [] : [`CacheRead ${plan.frame(slot.frame).namespace.name}, ${ageText(slot.readMs)}`];
  const made = plan.providersOf(slot).map((op, position) => {
    const { label, provider } = OP_DESCRIPTIONS[op.kind];
    const by = op.resolver ? nameResolver(op.resolver) : readableName(provider(plan, op));
    return `${label} ${by}`.trimEnd() + conditionWords(slot, op, position);
  });
  return [...read, ...made, ...slot.notes];
}

function ageText(readMs: number): string {
  return readMs === Number.POSITIVE_INFINITY ? "of any age" : `at most ${formatDuration(readMs)} old`;
}
