/** How a query was answered, as a text tree: from each output to what it was made of. */

import { formatDuration } from "../../../domain/duration.ts";
import { readableName } from "../../../domain/name.ts";
import { type FeatureValue, toPlainJson } from "../../../domain/value.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { OpKind, Plan, PlanFrame, PlanOp, PlanSlot, RowsSourceKind } from "../plan/plan.ts";
import { nameResolver } from "../plan/plan-reasons.ts";
import { CellOrigin, CellState } from "../run/cells.ts";
import type { Execution } from "../run/executor.ts";
import type { OpFigures } from "../run/trace.ts";

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
    `query ${head.queryId} on ${context.deployment.id} as of ${execution.timeOf(0).text}`,
    `${milliseconds(head.durationMs)}, plan ${plan.hash} (${head.planned ? "new" : "remembered"})`,
    "Output",
  ];
  new Tree(execution, lines, "").outputs();
  const rest = execution.covered.map((failure) => `covered by a default: ${failure.message}`);
  return [...lines, ...rest].join("\n");
}

/** The tree of a run, or of the run of child rows below it. */
class Tree {
  readonly #seen = new Set<number>();

  constructor(
    readonly execution: Execution,
    readonly lines: string[],
    readonly indent: string,
  ) {}

  outputs(): void {
    const { plan } = this.execution;
    for (const [position, output] of plan.outputs.entries()) {
      const last = position === plan.outputs.length - 1;
      const slot = plan.slots[output.slot];
      if (slot) this.#describe(slot, this.indent, last);
      else this.lines.push(`${this.indent}${branch(last)}${readableName(output.path)}: ${(output.reason ?? "").replaceAll("\n", " ")}`);
    }
  }

  #describe(slot: PlanSlot, indent: string, last: boolean): void {
    const { execution, lines } = this;
    const again = this.#seen.has(slot.id);
    lines.push(`${indent}${branch(last)}${nameOf(slot)}${valueText(execution, slot)}${again ? " (above)" : ""}`);
    if (again) return;
    this.#seen.add(slot.id);
    const inner = `${indent}${last ? "   " : "│  "}`;
    const isIdle = execution.cells.state[slot.id * execution.rows] === CellState.IDLE;
    const children = isIdle ? [] : childrenOf(execution, slot);
    const bar = children.length > 0 ? "│  " : "   ";
    for (const text of provenance(execution, slot)) lines.push(`${inner}${bar}${text}`);
    const op = execution.plan.ops[slot.op];
    const run = op?.rows && execution.children.find((child) => child.plan === op.rows?.child);
    if (run) {
      lines.push(`${inner}${bar}the first of ${run.rows} rows:`);
      new Tree(run, lines, `${inner}${bar}   `).outputs();
    }
    for (const [position, child] of children.entries())
      this.#describe(execution.plan.slots[child] as PlanSlot, inner, position === children.length - 1);
  }
}

/** Rows as they were given stand apart from the rows that are made of them. */
function nameOf(slot: PlanSlot): string {
  return slot.path.endsWith("=") ? `${slot.path.slice(0, -1)} as given` : readableName(slot.path);
}

function branch(last: boolean): string {
  return last ? "└─ " : "├─ ";
}

function valueText({ cells, rows }: Execution, slot: PlanSlot): string {
  const cell = slot.id * rows;
  switch (cells.state[cell]) {
    case CellState.OK: {
      if (slot.feature.rowsOf) {
        const rowsValue = cells.rowsAt.get(cell);
        return ` = ${rowsValue ? rowsValue.to - rowsValue.from : 0} rows`;
      }
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
    const age = formatDuration(Math.round(execution.timeOf(0).ms - (cells.observed[cell] as number)));
    const by = cells.storedBy[cell];
    const result =
      origin === CellOrigin.STORED
        ? `hit, ${age} old, by ${by || "its expression"}`
        : `miss: ${context.trace?.miss(cells, cell) ?? "key unknown"}`;
    lines.push(`CacheRead ${frame.namespace.name}, ${limit}: ${result}`);
  } else if (slot.feature.stalenessMs > 0) lines.push(`CacheRead skipped: ${whyNotRead(plan, frame, slot)}`);
  const op = plan.ops[slot.op];
  if (op && origin !== CellOrigin.STORED) {
    const figures = context.trace?.ops.get(op);
    const ran = figuresText(figures);
    if (op.kind === "expression") lines.push(`Expr ${readableName(slot.feature.fqn)}${ran}`);
    else if (op.rows) {
      lines.push(`Rows of ${op.rows.many.fqn}, ${SOURCES[op.rows.source]}${op.resolver ? ` ${nameResolver(op.resolver)}${ran}` : ""}`);
      const asked = context.trace?.asked.get(op);
      if (asked !== undefined) lines.push(`asked of the database: ${asked}`);
    } else if (op.resolver)
      lines.push(`${RESOLVERS[op.kind]} ${nameResolver(op.resolver)}${ran}${translationText(op, op.resolver, figures)}`);
    else lines.push(`Join ${frame.relation?.fqn ?? frame.path}`);
  }
  if (slot.needsRow) {
    const told = frame.rowOps.flatMap((id) => plan.ops[id] ?? []).filter((one) => context.trace?.ops.has(one));
    const by = told.map(
      (one) => `${RESOLVERS[one.kind]} ${one.resolver ? nameResolver(one.resolver) : ""}${figuresText(context.trace?.ops.get(one))}`,
    );
    if (by.length > 0) lines.push(`Row ${frame.path} looked up by ${by.join(", ")}`);
  }
  if (origin === CellOrigin.DEFAULT || origin === CellOrigin.NULLED) lines.push("Default");
  lines.push(...slot.notes);
  return lines;
}

function figuresText(figures: OpFigures | undefined): string {
  return figures ? `  rows ${figures.rowsIn} -> ${figures.rowsOut}  ${milliseconds(figures.ms)}` : "  not called";
}

/** What translation did for a Python resolver, or why it did nothing. */
function translationText({ kind }: PlanOp, { translation, untranslated }: ResolverInfo, figures: OpFigures | undefined): string {
  if (kind === "translated") return figures ? `, ${figures.fellBack} fell back to Python` : "";
  if (kind !== "python") return "";
  const reason = translation ? "the planner option disable_translation" : untranslated;
  return reason && `, not translated: ${reason}`;
}

function whyNotRead(plan: Plan, frame: PlanFrame, { feature }: PlanSlot): string {
  if (!feature.storesOnline) return "its values are not stored online (store_online)";
  if (plan.options.disableCacheReads) return "the planner option disable_cache_reads";
  return frame.keySlot < 0 ? "the primary key is not known" : "staleness 0s asks for a fresh value";
}

const RESOLVERS: Readonly<Record<OpKind, string>> = {
  python: "PyResolver",
  translated: "PyResolver translated",
  sql: "SqlResolver",
  scan: "PyScan",
  join: "Join",
  expression: "Expr",
  rows: "Rows",
};

const SOURCES: Readonly<Record<RowsSourceKind, string>> = {
  given: "given with the query",
  relation: "PyResolver",
  sql: "SqlResolver",
  scan: "PyScan",
};

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
