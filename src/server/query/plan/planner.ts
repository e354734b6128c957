/**
 * The planner: a pure function of the graph's index and a request's shape. It searches from the
 * outputs back to the inputs, chooses one provider for every goal on the way, and never chooses
 * circular dependencies: a candidate is possible only if its inputs can be derived without the
 * goals that wait for it.
 */

import { ErrorCategory, ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { findComponents } from "../../../domain/components.ts";
import type { GraphIndex } from "../graph/graph-index.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import { pathOf } from "../graph/parameter-index.ts";
import { QueryRefused } from "../refusal.ts";
import { outputPath } from "../request/resolve.ts";
import { needsKey } from "./child-plan.ts";
import { derive, type Strength, waitsFor } from "./derivable.ts";
import {
  type BuiltCall,
  type CallNode,
  type Candidate,
  type Choice,
  callsOf,
  type Decision,
  type Goal,
  PlanTooLarge,
} from "./goal-nodes.ts";
import { GoalGraph } from "./goals.ts";
import type { Plan, PlanShape } from "./plan.ts";
import { emitPlan } from "./plan-emission.ts";
import { ambiguousMessage, lostNotes, missingMessage } from "./plan-reasons.ts";

/**
 * Plans a shape. Throws QueryRefused when an output that was named has no provider, or several that
 * nothing separates.
 */
export function planQuery(index: GraphIndex, shape: PlanShape): Plan {
  const children = new Map<string, Plan | QueryRefused>();
  const planChild = (child: PlanShape): Plan => {
    const key = shapeKey(child);
    let known = children.get(key);
    if (known === undefined) {
      known = planOrRefuse(index, child, planChild);
      children.set(key, known);
    }
    if (known instanceof QueryRefused) throw known;
    return known;
  };
  return plan(index, shape, planChild);
}

function planOrRefuse(index: GraphIndex, shape: PlanShape, planChild: (child: PlanShape) => Plan): Plan | QueryRefused {
  try {
    return plan(index, shape, planChild);
  } catch (error) {
    if (error instanceof QueryRefused) return error;
    throw error;
  }
}

/** Everything that plans of child rows within one query differ by. */
function shapeKey({ root, givens, rows, outputs, nesting }: PlanShape): string {
  const wanted = outputs.map(
    (output) => `${outputPath(root.name, output)}${output.named ? "!" : ""}${output.needs ? needsKey(output.needs) : ""}`,
  );
  const passed = (nesting ?? []).map((many) => many.fqn).sort();
  const known = [
    ...givens.map((given) => pathOf(root.name, given)),
    ...rows.map((row) => `${pathOf(root.name, row)}${row.absent ? "!" : "="}`),
  ];
  return [root.name, known.join(" "), wanted.join(" "), passed.join(" ")].join("|");
}

function plan(index: GraphIndex, shape: PlanShape, planChild: (child: PlanShape) => Plan): Plan {
  try {
    return new Search(index, shape, planChild).run();
  } catch (error) {
    if (!(error instanceof PlanTooLarge)) throw error;
    throw new QueryRefused([
      {
        code: ErrorCode.INVALID_QUERY,
        category: ErrorCategory.REQUEST,
        message: `the query cannot be planned: ${error.message}; ask for fewer outputs`,
      },
    ]);
  }
}

class Ambiguous extends Error {
  override readonly name = "Ambiguous";
  constructor(
    readonly goal: Goal,
    readonly candidates: readonly Candidate[],
  ) {
    super(goal.path);
  }
}

class Search {
  readonly #graph: GoalGraph;
  readonly #outputs: readonly Goal[];
  readonly #components: ReadonlyMap<Goal, ReadonlySet<Goal>>;
  readonly #derivable: Readonly<Record<Strength, ReadonlySet<Goal>>>;
  readonly #decisions = new Map<Goal, Decision>();
  readonly #calls = new Map<string, BuiltCall>();
  readonly #stack = new Set<Goal>();

  constructor(
    index: GraphIndex,
    readonly shape: PlanShape,
    readonly planChild: (child: PlanShape) => Plan,
  ) {
    this.#graph = new GoalGraph(index, shape, planChild);
    this.#outputs = this.#graph.outputs();
    this.#components = findComponents(this.#graph.goals, waitsFor);
    this.#derivable = { strong: derive(this.#graph.goals, "strong", isBase), weak: derive(this.#graph.goals, "weak", isBase) };
  }

  run(): Plan {
    const unprovided = new Map<Goal, string>();
    const refusals: { goal: Goal; message: string }[] = [];
    for (const [position, goal] of this.#solveOutputs().entries()) {
      if (goal === undefined) continue;
      const message = missingMessage(goal, this.shape, this.#anyhow);
      if (this.shape.outputs[position]?.named) refusals.push({ goal, message });
      else unprovided.set(goal, message);
    }
    if (refusals.length > 0) throw refused(refusals);
    return emitPlan({
      graph: this.#graph,
      shape: this.shape,
      outputs: this.#outputs,
      unprovided,
      decisions: this.#decisions,
      calls: this.#calls,
      plan: this.planChild,
    });
  }

  /**
   * Solves every output; returns for each the goal if nothing provides it. Ambiguous ones are tried
   * again when others have chosen resolvers.
   */
  #solveOutputs(): (Goal | undefined)[] {
    const failed: (Goal | undefined)[] = this.#outputs.map(() => undefined);
    let open = this.#outputs.map((_, position) => position);
    for (;;) {
      const ambiguous: { position: number; error: Ambiguous }[] = [];
      for (const position of open) {
        const goal = this.#outputs[position] as Goal;
        try {
          if (!this.#solve(goal)) failed[position] = goal;
        } catch (error) {
          if (!(error instanceof Ambiguous)) throw error;
          ambiguous.push({ position, error });
        }
      }
      if (ambiguous.length === 0) return failed;
      if (ambiguous.length === open.length)
        throw refused(
          ambiguous.map(({ error }) => ({
            goal: error.goal,
            message: ambiguousMessage(
              error.goal,
              error.candidates.flatMap((c) => c.call?.resolver ?? []),
            ),
          })),
        );
      open = ambiguous.map(({ position }) => position);
    }
  }

  /**
   * Decides a goal and all it needs; false when it cannot be derived without the goals that wait
   * for it.
   */
  #solve(goal: Goal): boolean {
    if (this.#decisions.has(goal)) return true;
    if (this.#stack.has(goal)) return false;
    if (isBase(goal)) {
      this.#decisions.set(goal, { goal, conditional: [], call: undefined, readStore: false, notes: [] });
      return true;
    }
    const viable = this.#viable(goal);
    if (viable.length === 0) return false;
    this.#stack.add(goal);
    try {
      const chosen = this.#choose(goal, viable);
      const decided = { conditional: chosen.conditional.flatMap(({ call }) => call ?? []), call: chosen.last?.call };
      for (const gate of goal.frame.gates) this.#must(gate);
      for (const call of callsOf(decided)) this.#build(call);
      const readStore = goal.key !== undefined && this.#attempt(goal.key);
      this.#decisions.set(goal, { goal, ...decided, readStore, notes: lostNotes(goal, chosen, viable, this.#anyhow) });
      return true;
    } finally {
      this.#stack.delete(goal);
    }
  }

  readonly #anyhow = (goal: Goal): boolean => isBase(goal) || this.#derivable.weak.has(goal);

  #must(goal: Goal): void {
    if (!this.#solve(goal)) throw new Error(`the planner lost ${goal.path}, which it had found derivable`);
  }

  /** As `#solve`, for what a plan can do without: ambiguity counts as failure. */
  #attempt(goal: Goal): boolean {
    try {
      return this.#solve(goal);
    } catch (error) {
      if (error instanceof Ambiguous) return false;
      throw error;
    }
  }

  #build(call: CallNode): void {
    if (this.#calls.has(call.key)) return;
    for (const needed of call.required) this.#must(needed);
    const inputs = call.inputs.map(({ goal, parameter }) => {
      if (!goal || !parameter.optional) return goal;
      return this.#solve(goal) ? goal : undefined;
    });
    if (!this.#calls.has(call.key)) this.#calls.set(call.key, { call, inputs });
  }

  /**
   * The candidates that are possible here, of the best class there is: computed, computed from what
   * may be stored, default, stored. Beside those with conditions there are all that are computed.
   */
  #viable(goal: Goal): readonly Candidate[] {
    for (const strength of ["strong", "weak"] as const) {
      const can = this.#tester(goal, strength);
      const found = goal.candidates.filter(
        (candidate) => candidate.call && (this.#calls.has(candidate.call.key) || candidate.required.every(can)),
      );
      if (found.some((candidate) => !candidate.call?.condition) || (found.length > 0 && strength === "weak")) return found;
    }
    const can = this.#tester(goal, "weak");
    const rest = goal.candidates.filter((candidate) => !candidate.call && candidate.required.every(can));
    const byDefault = rest.find((candidate) => candidate.kind === "default");
    return byDefault ? [byDefault] : rest.slice(0, 1);
  }

  #tester(goal: Goal, strength: Strength): (needed: Goal) => boolean {
    const anywhere = this.#derivable[strength];
    const component = this.#components.get(goal);
    if (!component) return (needed) => isBase(needed) || this.#decisions.has(needed) || anywhere.has(needed);
    const excluded = new Set([goal]);
    for (const waiting of this.#stack) if (component.has(waiting)) excluded.add(waiting);
    const settled = (needed: Goal) => isBase(needed) || this.#decisions.has(needed) || (!component.has(needed) && anywhere.has(needed));
    let derived: ReadonlySet<Goal> | undefined;
    return (needed) => {
      if (excluded.has(needed)) return false;
      if (settled(needed)) return true;
      derived ??= derive(component, strength, settled, excluded);
      return derived.has(needed);
    };
  }

  #choose(goal: Goal, viable: readonly Candidate[]): Choice {
    const join = viable.find((candidate) => candidate.kind === "join") ?? viable.find((candidate) => candidate.kind === "expression");
    if (join) return { conditional: [], last: join };
    let best = goal.feature.rowsOf ? rowsSources(viable) : viable;
    if (best.length > 1) {
      const most = Math.max(...best.map(tagCount));
      best = best.filter((candidate) => tagCount(candidate) === most);
    }
    if (best.length > 1 && this.shape.history) {
      const offline = best.filter((candidate) => candidate.call?.resolver?.offline);
      if (offline.length > 0) best = offline;
    }
    const conditional = best.filter((candidate) => candidate.call?.condition).sort(byPlace);
    best = best.filter((candidate) => !candidate.call?.condition);
    if (best.length > 1) {
      const total = best.filter((candidate) => candidate.call?.resolver?.total);
      if (total.length > 1) throw new Ambiguous(goal, total);
      if (total.length === 1) best = total;
    }
    if (best.length > 1) {
      const reused = best.filter((candidate) => candidate.call && this.#calls.has(candidate.call.key));
      if (reused.length === 1) best = reused;
    }
    if (best.length > 1) throw new Ambiguous(goal, best);
    return { conditional, last: best[0] };
  }
}

/** The order of resolvers in their files. */
function byPlace({ call: one }: Candidate, { call: other }: Candidate): number {
  const [first, second] = [one?.resolver as ResolverInfo, other?.resolver as ResolverInfo];
  if (first.file !== second.file) return first.file < second.file ? -1 : 1;
  return first.line - second.line;
}

/**
 * Of the sources of child rows those that come first: given, a resolver of the relation, the one
 * with all rows, queries by key, scans.
 */
function rowsSources(viable: readonly Candidate[]): readonly Candidate[] {
  const rank = Math.min(...viable.map((candidate) => candidate.rank ?? 0));
  const total = rank < 2 ? [] : viable.filter((candidate) => candidate.call?.resolver?.total);
  return total.length > 0 ? total : viable.filter((candidate) => candidate.rank === rank);
}

function isBase(goal: Goal): boolean {
  return goal.given >= 0 || goal.frame.mode === "absent";
}

function tagCount(candidate: Candidate): number {
  return candidate.call?.resolver?.tags.length ?? 0;
}

function refused(failures: readonly { readonly goal: Goal; readonly message: string }[]): QueryRefused {
  const unique = new Map(failures.map((failure) => [failure.message, failure]));
  return new QueryRefused(
    [...unique.values()].map(({ goal, message }) => ({
      code: ErrorCode.RESOLVER_NOT_FOUND,
      category: ErrorCategory.REQUEST,
      message,
      feature: goal.path,
    })),
  );
}
