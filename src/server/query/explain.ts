/** How a query was answered, as a text tree: from each output to what it was made of. */

import { formatDuration } from "../../domain/duration.ts";
import { type FeatureValue, toPlainJson } from "../../domain/value.ts";
import { CellOrigin, CellState } from "./cells.ts";
import type { Execution } from "./executor.ts";
import type { PlanFrame, PlanSlot } from "./plan.ts";
import { nameResolver } from "./plan-reasons.ts";

const MAX_VALUE_LENGTH = 48;

/** Facts of the first line. */
export interface ExplainHead {
  readonly queryId: string;
  readonly durationMs: number;
  /** Whether the plan was made for this query or remembered. */
  readonly planned: boolean;
}

/** The tree of a run's first row. Ops, rows in and out, milliseconds, the provider chosen, and why others were not. */
export function explainRun(execution: Execution, head: ExplainHead): string {
  const { plan, context } = execution;
  const lines = [
    `query ${head.queryId} on ${context.deployment.id} as of ${context.nowText}`,
    `${milliseconds(head.durationMs)}, plan ${plan.hash} (${head.planned ? "new" : "remembered"})`,
    "Output",
  ];
  const seen = new Set<number>();
  for (const [position, output] of plan.outputs.entries()) {
    const last = position === plan.outputs.length - 1;
    const slot = plan.slots[output.slot];
    if (slot) describe(slot, "", last);
    else lines.push(`${branch(last)}${output.path}: ${(output.reason ?? "").replaceAll("\n", " ")}`);
  }
  const rest = execution.covered.map((failure) => `covered by a default: ${failure.message}`);
  return [...lines, ...rest].join("\n");

  function describe(slot: PlanSlot, indent: string, last: boolean): void {
    const again = seen.has(slot.id);
    lines.push(`${indent}${branch(last)}${slot.path}${valueText(execution, slot)}${again ? " (above)" : ""}`);
    if (again) return;
    seen.add(slot.id);
    const inner = `${indent}${last ? "   " : "│  "}`;
    const children = execution.cells.state[slot.id * execution.rows] === CellState.IDLE ? [] : childrenOf(execution, slot);
    const bar = children.length > 0 ? "│  " : "   ";
    for (const text of provenance(execution, slot)) lines.push(`${inner}${bar}${text}`);
    for (const [position, child] of children.entries()) describe(plan.slots[child] as PlanSlot, inner, position === children.length - 1);
  }
}

function branch(last: boolean): string {
  return last ? "└─ " : "├─ ";
}

function valueText({ cells, rows }: Execution, slot: PlanSlot): string {
  const cell = slot.id * rows;
  switch (cells.state[cell]) {
    case CellState.OK: {
      const text = JSON.stringify(toPlainJson(cells.values[cell] as FeatureValue, slot.feature.dtype)) ?? "null";
      return ` = ${text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH - 3)}...` : text}`;
    }
    case CellState.ABSENT:
      return " = null (no row)";
    case CellState.FAILED:
      return ` failed: ${cells.failures[cell]?.message.replaceAll("\n", " ")}`;
    default:
      return " not needed";
  }
}

function provenance(execution: Execution, slot: PlanSlot): string[] {
  const { plan, cells, rows, context } = execution;
  const cell = slot.id * rows;
  const frame = plan.frames[slot.frame] as PlanFrame;
  const lines: string[] = [];
  if (cells.state[cell] === CellState.IDLE) return lines;
  const origin = cells.origin[cell];
  if (origin === CellOrigin.GIVEN) return ["Given"];
  if (slot.readMs > 0) {
    const limit = slot.readMs === Number.POSITIVE_INFINITY ? "of any age" : `at most ${formatDuration(slot.readMs)} old`;
    const age = formatDuration(Math.round(context.nowMs - (cells.observed[cell] as number)));
    const result =
      origin === CellOrigin.STORED
        ? `hit, ${age} old, by ${cells.storedBy.get(cell)}`
        : `miss: ${context.trace?.misses.get(cell) ?? "key unknown"}`;
    lines.push(`CacheRead ${frame.namespace.name}, ${limit}: ${result}`);
  } else if (slot.feature.stalenessMs > 0)
    lines.push(`CacheRead skipped: ${frame.keySlot < 0 ? "the primary key is not known" : "staleness 0s asks for a fresh value"}`);
  const op = plan.ops[slot.op];
  if (op && origin !== CellOrigin.STORED) {
    const figures = context.trace?.ops.get(op.id);
    const ran = figures ? `  rows ${figures.rowsIn} -> ${figures.rowsOut}  ${milliseconds(figures.ms)}` : "  not called";
    if (op.resolver) lines.push(`${op.kind === "sql" ? "SqlResolver" : "PyResolver"} ${nameResolver(op.resolver)}${ran}`);
    else lines.push(`Join ${frame.relation?.fqn ?? frame.path}`);
  }
  if (origin === CellOrigin.DEFAULT) lines.push("Default");
  lines.push(...slot.notes);
  return lines;
}

function childrenOf({ plan, cells, rows }: Execution, slot: PlanSlot): readonly number[] {
  if (cells.origin[slot.id * rows] === CellOrigin.GIVEN) return [];
  const frame = plan.frames[slot.frame] as PlanFrame;
  if (cells.origin[slot.id * rows] === CellOrigin.STORED) return frame.keySlot >= 0 ? [frame.keySlot] : [];
  const op = plan.ops[slot.op];
  return op ? op.inputSlots : frame.gateSlots;
}

function milliseconds(ms: number): string {
  return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(1)} ms`;
}
