/**
 * Descriptions of every kind of operation, for explanations, spans and stages. `ops/registry.ts`
 * has the code that runs them.
 */

import { readableName } from "../../../domain/name.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { OpKind, Plan, PlanOp, PlanRows, PlanSlot, RowsSourceKind } from "../plan/plan.ts";
import { nameResolver } from "../plan/plan-reasons.ts";
import type { OpFigures, Trace } from "../run/trace.ts";

/** The words for a kind of operation. */
export interface OpDescription {
  /** Label in front of a provider: `SqlResolver`. */
  readonly label: string;
  /**
   * The provider of a step's values: a resolver's FQN, the feature of an expression, the relation
   * of rows; empty = a join.
   */
  provider(plan: Plan, op: PlanOp): string;
  /** The lines of an explanation that say how a slot was provided, with the figures of the run. */
  lines(plan: Plan, op: PlanOp, slot: PlanSlot, trace: Trace | undefined): readonly string[];
}

function fqnOf(_: Plan, { resolver }: PlanOp): string {
  return resolver?.fqn ?? "";
}

/** A kind that calls a resolver. `note` gives a further remark. */
function callOf(label: string, note: (resolver: ResolverInfo, figures: OpFigures | undefined) => string = () => ""): OpDescription {
  return {
    label,
    provider: fqnOf,
    lines(_, op, _slot, trace) {
      const figures = trace?.ops.get(op);
      const resolver = op.resolver as ResolverInfo;
      return [`${label} ${nameResolver(resolver)}${figuresText(figures)}${note(resolver, figures)}`];
    },
  };
}

/** The descriptions by kind: a kind without an entry does not compile. */
export const OP_DESCRIPTIONS: Readonly<Record<OpKind, OpDescription>> = {
  python: callOf("PyResolver", ({ translation, untranslated }) => {
    const reason = translation ? "the planner option disable_translation" : untranslated;
    return reason && `, not translated: ${reason}`;
  }),
  translated: callOf("PyResolver translated", (_, figures) => (figures ? `, ${figures.fellBack} fell back to Python` : "")),
  sql: callOf("SqlResolver"),
  scan: callOf("PyScan"),
  join: {
    label: "Join",
    provider: () => "",
    lines: (plan, op) => [`Join ${joinName(plan, op)}`],
  },
  expression: {
    label: "Expr",
    provider: (plan, op) => plan.outputOf(op).feature.fqn,
    lines: (_, op, slot, trace) => [`Expr ${readableName(slot.feature.fqn)}${figuresText(trace?.ops.get(op))}`],
  },
  tiles: {
    label: "Tiles",
    provider: (plan, op) => plan.outputOf(op).feature.fqn,
    lines: (_, op, slot, trace) => [`Tiles of ${readableName(slot.feature.fqn)}${figuresText(trace?.ops.get(op))}`],
  },
  rows: {
    label: "Rows",
    provider: (_, { resolver, rows }) => resolver?.fqn ?? (rows as PlanRows).many.fqn,
    lines(_, op, _slot, trace) {
      const { many, source } = op.rows as PlanRows;
      const searched = source === "nearest" ? figuresText(trace?.ops.get(op)) : "";
      const by = op.resolver ? ` ${nameResolver(op.resolver)}${figuresText(trace?.ops.get(op))}` : "";
      const test = trace?.tests.get(op);
      return [`Rows of ${many.fqn}, ${SOURCES[source]}${searched}${by}`, ...(test === undefined ? [] : [`asked of the database: ${test}`])];
    },
  },
};

const SOURCES: Readonly<Record<RowsSourceKind, string>> = {
  given: "given with the query",
  relation: "PyResolver",
  sql: "SqlResolver",
  scan: "PyScan",
  nearest: "nearest in the online store",
};

/** The relation of a join. */
function joinName(plan: Plan, op: PlanOp): string {
  const { relation, path } = plan.frame(op.frame);
  return relation?.fqn ?? path;
}

/** A step by its provider, a join by its relation. */
export function stepName(plan: Plan, op: PlanOp): string {
  return OP_DESCRIPTIONS[op.kind].provider(plan, op) || joinName(plan, op);
}

/**
 * Which rows an op of several computes for a slot, after its description; empty = it is the only
 * one.
 * @param position its place among them
 */
export function conditionWords({ choices }: PlanSlot, { resolver }: PlanOp, position: number): string {
  if (choices.length === 0) return "";
  return position < choices.length ? `, when ${resolver?.conditionText}` : ", for other rows";
}

/** The figures of an op as text. */
export function figuresText(figures: OpFigures | undefined): string {
  return figures ? `  rows ${figures.rowsIn} -> ${figures.rowsOut}  ${milliseconds(figures.ms)}` : "  not called";
}

/** A number of milliseconds as text. */
export function milliseconds(ms: number): string {
  return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(1)} ms`;
}
