/** Explanations of queries: a text tree from each output to its inputs. */

import { formatDuration } from "../../../domain/duration.ts";
import { readableName } from "../../../domain/name.ts";
import { toPlainJson } from "../../../domain/value.ts";
import { type CellId, FIRST_ROW, type SlotId } from "../plan/ids.ts";
import type { Plan, PlanFrame, PlanSlot } from "../plan/plan.ts";
import { nameResolver } from "../plan/plan-reasons.ts";
import { CellOrigin, CellState } from "../run/cells.ts";
import { providerOf } from "../run/choice.ts";
import type { Run } from "../run/run.ts";
import { conditionWords, figuresText, milliseconds, OP_DESCRIPTIONS } from "./op-descriptions.ts";

const MAX_VALUE_LENGTH = 48;

/** Facts of the first line. */
export interface ExplainHead {
  readonly queryId: string;
  readonly durationMs: number;
  /** Whether the plan was made for this query, rather than cached. */
  readonly planned: boolean;
}

/**
 * The tree of a run's first row. Ops, rows in and out, milliseconds, the provider chosen, and why
 * others were not.
 */
export function explainRun(run: Run, head: ExplainHead): string {
  const { plan, context } = run;
  const lines = [
    `query ${head.queryId} on ${context.deployment.id} as of ${run.timeOf(FIRST_ROW).text}`,
    `${milliseconds(head.durationMs)}, plan ${plan.hash} (${head.planned ? "new" : "remembered"})`,
    "Output",
  ];
  new Tree(run, lines, "").outputs();
  const rest = run.covered.map((failure) => `covered by a default: ${failure.message}`);
  return [...lines, ...rest].join("\n");
}

/** The tree of a run, or of the run of child rows below it. */
class Tree {
  readonly #seen = new Set<SlotId>();

  constructor(
    readonly run: Run,
    readonly lines: string[],
    readonly indent: string,
  ) {}

  outputs(): void {
    const { plan } = this.run;
    for (const [position, output] of plan.outputs.entries()) {
      const last = position === plan.outputs.length - 1;
      if (output.slot !== undefined) this.#describe(plan.slot(output.slot), this.indent, last);
      else this.lines.push(`${this.indent}${branch(last)}${readableName(output.path)}: ${(output.reason ?? "").replaceAll("\n", " ")}`);
    }
  }

  #describe(slot: PlanSlot, indent: string, last: boolean): void {
    const { run, lines } = this;
    const again = this.#seen.has(slot.id);
    lines.push(`${indent}${branch(last)}${nameOf(slot)}${valueText(run, slot)}${again ? " (above)" : ""}`);
    if (again) return;
    this.#seen.add(slot.id);
    const inner = `${indent}${last ? "   " : "│  "}`;
    const isIdle = run.cells.state(firstCell(run, slot)) === CellState.IDLE;
    const children = isIdle ? [] : childrenOf(run, slot);
    const bar = children.length > 0 ? "│  " : "   ";
    for (const text of provenance(run, slot)) lines.push(`${inner}${bar}${text}`);
    const op = providerOf(run, slot, FIRST_ROW);
    const nested = op?.rows && run.children.find((child) => child.plan === op.rows?.child);
    if (nested) {
      lines.push(`${inner}${bar}the first of ${nested.rows} rows:`);
      new Tree(nested, lines, `${inner}${bar}   `).outputs();
    }
    for (const [position, child] of children.entries()) this.#describe(run.plan.slot(child), inner, position === children.length - 1);
  }
}

/** The name of a slot; rows as given are distinguished from the rows computed from them. */
function nameOf(slot: PlanSlot): string {
  return slot.path.endsWith("=") ? `${slot.path.slice(0, -1)} as given` : readableName(slot.path);
}

function branch(last: boolean): string {
  return last ? "└─ " : "├─ ";
}

/** The cell of a slot in the first row, which is the one that is explained. */
function firstCell({ cells }: Run, slot: PlanSlot): CellId {
  return cells.at(slot.id, FIRST_ROW);
}

function valueText(run: Run, slot: PlanSlot): string {
  const { cells } = run;
  const cell = firstCell(run, slot);
  switch (cells.state(cell)) {
    case CellState.OK: {
      if (slot.feature.rowsOf) {
        const rows = cells.childRows(cell);
        return ` = ${rows ? rows.to - rows.from : 0} rows`;
      }
      const text = JSON.stringify(toPlainJson(cells.value(cell), slot.feature.dtype)) ?? "null";
      return ` = ${text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH - 3)}...` : text}`;
    }
    case CellState.ABSENT:
      return " = null (no row)";
    case CellState.FAILED:
      return ` failed: ${cells.failure(cell)?.message.replaceAll("\n", " ")}`;
    default:
      return " not needed";
  }
}

/** The provenance of a slot's value, line by line. */
function provenance(run: Run, slot: PlanSlot): string[] {
  const { cells } = run;
  const cell = firstCell(run, slot);
  if (cells.state(cell) === CellState.IDLE) return [];
  const origin = cells.origin(cell);
  if (origin === CellOrigin.GIVEN) return ["Given"];
  const made = origin === CellOrigin.STORED ? [] : madeLines(run, slot);
  const isDefault = origin === CellOrigin.DEFAULT || origin === CellOrigin.NULLED;
  return [...readLines(run, slot, cell), ...made, ...rowLines(run, slot), ...(isDefault ? ["Default"] : []), ...slot.notes];
}

/**
 * The op that provides a slot; of several all, each with the rows that it was run for and, but the
 * last, its condition.
 */
function madeLines({ plan, context }: Run, slot: PlanSlot): readonly string[] {
  return plan.providersOf(slot).flatMap((op, position) => {
    const words = conditionWords(slot, op, position);
    return OP_DESCRIPTIONS[op.kind].lines(plan, op, slot, context.trace).map((line) => `${line}${words}`);
  });
}

/** The value that the online store had for a cell, or why it was not read. */
function readLines(run: Run, slot: PlanSlot, cell: CellId): string[] {
  const { plan, cells, context } = run;
  const frame = plan.frame(slot.frame);
  if (slot.readMs === 0) return slot.feature.stalenessMs > 0 ? [`CacheRead skipped: ${whyNotRead(plan, frame, slot)}`] : [];
  const limit = slot.readMs === Number.POSITIVE_INFINITY ? "of any age" : `at most ${formatDuration(slot.readMs)} old`;
  const age = formatDuration(Math.round(run.timeOf(FIRST_ROW).ms - cells.observed(cell)));
  const result =
    cells.origin(cell) === CellOrigin.STORED
      ? `hit, ${age} old, by ${cells.storedBy(cell) || "its expression"}`
      : `miss: ${context.trace?.miss(cells, cell) ?? "key unknown"}`;
  return [`CacheRead ${frame.namespace.name}, ${limit}: ${result}`];
}

/** The ops that were asked whether the row of a slot exists. */
function rowLines({ plan, context: { trace } }: Run, slot: PlanSlot): string[] {
  if (!slot.needsRow) return [];
  const frame = plan.frame(slot.frame);
  const by = frame.rowOps.flatMap((id) => {
    const op = plan.op(id);
    const figures = trace?.ops.get(op);
    return figures ? [`${OP_DESCRIPTIONS[op.kind].label} ${op.resolver ? nameResolver(op.resolver) : ""}${figuresText(figures)}`] : [];
  });
  return by.length > 0 ? [`Row ${frame.path} looked up by ${by.join(", ")}`] : [];
}

function whyNotRead(plan: Plan, frame: PlanFrame, { feature }: PlanSlot): string {
  if (!feature.storesOnline) return "its values are not stored online (store_online)";
  if (plan.options.disableCacheReads) return "the planner option disable_cache_reads";
  return frame.keySlot === undefined ? "the primary key is not known" : "staleness 0s asks for a fresh value";
}

/** The slots from which a slot was computed. */
function childrenOf(run: Run, slot: PlanSlot): readonly SlotId[] {
  const { plan, cells } = run;
  const origin = cells.origin(firstCell(run, slot));
  if (origin === CellOrigin.GIVEN) return [];
  const frame = plan.frame(slot.frame);
  if (origin === CellOrigin.STORED) return frame.keySlot === undefined ? [] : [frame.keySlot];
  const taken = providerOf(run, slot, FIRST_ROW)?.inputSlots ?? frame.gateSlots;
  return slot.choices.length === 0 ? taken : [...new Set([...slot.choices.map(({ condition }) => condition), ...taken])];
}
