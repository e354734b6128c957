/** The goal graph: every feature that a query could need, with everything that could provide it. */

import type { GraphIndex } from "../graph/graph-index.ts";
import type { NamespaceInfo, RelationInfo, ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import { pathOf } from "../graph/parameter-index.ts";
import { expressionCall, gives, joinCall, resolverCall, tilesCall } from "./calls.ts";
import { staleMs } from "./child-plan.ts";
import { type CallNode, type Candidate, type FrameNode, type Goal, PlanTooLarge, type Rejection } from "./goal-nodes.ts";
import type { FrameMode, Plan, PlanShape } from "./plan.ts";
import { whyUnfit } from "./resolver-fitness.ts";
import { givenRows, rowsCandidates } from "./rows-candidates.ts";

/** More goals than this are not planned: the request is refused. */
export const MAX_GOALS = 10_000;
const MAX_DEPTH = 32;

/** Builds the goals of a shape, from its outputs to whatever they could be derived from. */
export class GoalGraph {
  readonly goals: Goal[] = [];
  readonly frames: FrameNode[] = [];
  readonly root: FrameNode;
  readonly #calls = new Map<string, CallNode | string>();
  readonly #modes = new Map<string, FrameMode>();
  readonly #givens = new Map<string, number>();
  /**
   * Reasons why child rows cannot have what is needed of them, by call and needs; null = they can.
   */
  readonly childProblems = new Map<string, string | null>();
  readonly #unfit = new Map<ResolverInfo, string | null>();
  readonly #expanded = new Set<Goal>();
  readonly #repeats = new Map<RelationInfo, number>();

  constructor(
    readonly index: GraphIndex,
    readonly shape: PlanShape,
    /** Plans the shape of child rows. */
    readonly plan: (shape: PlanShape) => Plan,
  ) {
    const root = shape.root.name;
    for (const [position, given] of shape.givens.entries()) {
      this.#givens.set(pathOf(root, given), position);
      for (let end = 1; end <= given.relations.length; end++)
        this.#modes.set(pathOf(root, { relations: given.relations.slice(0, end) }), "open");
    }
    for (const row of shape.rows) this.#modes.set(pathOf(root, row), row.absent ? "absent" : "given");
    for (const { relations } of [...shape.givens, ...shape.rows, ...shape.outputs]) {
      const counts = new Map<RelationInfo, number>();
      for (const relation of relations) counts.set(relation, (counts.get(relation) ?? 0) + 1);
      for (const [relation, count] of counts) this.#repeats.set(relation, Math.max(count, this.#repeats.get(relation) ?? 0));
    }
    this.root = this.#frame(undefined, undefined, shape.root);
    for (const given of shape.givens) this.goal(this.#reach(given.relations), given.feature);
  }

  /** The goals of the shape's outputs, with everything they could depend on expanded. */
  outputs(): Goal[] {
    const outputs = this.shape.outputs.map((output) => this.goal(this.#reach(output.relations), output.feature));
    for (let next = 0; next < this.goals.length; next++) this.expand(this.goals[next] as Goal);
    return outputs;
  }

  /** The goal of a feature in a frame. */
  goal(frame: FrameNode, feature: ScalarInfo): Goal {
    const known = frame.goals.get(feature);
    if (known) return known;
    if (this.goals.length >= MAX_GOALS) throw new PlanTooLarge(`more than ${MAX_GOALS} features could take part in this query`);
    const path = `${frame.path}.${feature.name}`;
    const goal: Goal = {
      id: this.goals.length,
      frame,
      feature,
      path,
      given: this.#givens.get(path) ?? -1,
      candidates: [],
      rejected: [],
      key: undefined,
      staleMs: staleMs(this.shape, feature),
    };
    frame.goals.set(feature, goal);
    this.goals.push(goal);
    return goal;
  }

  #reach(relations: readonly RelationInfo[]): FrameNode {
    let frame = this.root;
    for (const relation of relations) frame = frame.children.get(relation) ?? this.#frame(frame, relation, relation.foreign);
    return frame;
  }

  #frame(parent: FrameNode | undefined, relation: RelationInfo | undefined, namespace: NamespaceInfo): FrameNode {
    const path = parent && relation ? `${parent.path}.${relation.name}` : namespace.name;
    const mode = !parent ? "root" : parent.mode === "absent" ? "absent" : (this.#modes.get(path) ?? "join");
    const frame: FrameNode = {
      id: this.frames.length,
      path,
      parent,
      relation,
      namespace,
      mode,
      optional: (parent?.optional ?? false) || (relation?.optional ?? false) || mode === "absent",
      relations: parent && relation ? [...parent.relations, relation] : [],
      gates: [],
      children: new Map(),
      goals: new Map(),
    };
    this.frames.push(frame);
    if (parent && relation) {
      parent.children.set(relation, frame);
      if (mode === "join") frame.gates = relation.join.map((pair) => this.goal(parent, pair.local));
    }
    return frame;
  }

  /**
   * The frame at the end of relations, or the reason why the planner does not follow them.
   * @param isRecursive whether this is for a resolver or feature that may depend on itself through
   * other rows: then a relation is followed once more than by the query, and no further
   */
  descend(from: FrameNode, relations: readonly RelationInfo[], isRecursive: boolean): FrameNode | string {
    let frame = from;
    for (const relation of relations) {
      const known = frame.children.get(relation);
      if (known) {
        frame = known;
        continue;
      }
      const seen = frame.relations.filter((passed) => passed === relation).length;
      if (isRecursive && (seen > (this.#repeats.get(relation) ?? 0) || frame.relations.length >= MAX_DEPTH))
        return `it would follow ${relation.fqn} once more from ${frame.path}`;
      frame = this.#frame(frame, relation, relation.foreign);
    }
    return frame;
  }

  /** Finds the candidates of a goal, once. */
  expand(goal: Goal): void {
    const { frame, feature } = goal;
    if (goal.given >= 0 || frame.mode === "absent" || this.#expanded.has(goal)) return;
    this.#expanded.add(goal);
    const candidates: Candidate[] = [];
    const rejected: Rejection[] = [];
    if (feature.rowsOf) {
      const { candidates: paths, rejected: others, obstacle } = rowsCandidates(this, goal, feature.rowsOf);
      goal.candidates = paths;
      goal.rejected = others;
      if (obstacle !== undefined) goal.obstacle = obstacle;
      if (!paths.some((path) => path.call?.source?.kind === "given")) goal.key = this.#storeKey(goal);
      return;
    }
    const forced = this.#forcedFor(goal);
    if (forced) {
      const reason = this.unfit(forced) ?? this.call(frame, forced);
      if (typeof reason === "string") goal.rejected = [{ resolver: forced, reason }];
      else goal.candidates = [{ kind: "resolver", call: reason, required: reason.required }];
      return;
    }
    const pair = frame.mode === "join" || frame.mode === "open" ? frame.relation?.join.find((key) => key.foreign === feature) : undefined;
    if (pair && frame.parent) {
      const local = this.goal(frame.parent, pair.local);
      candidates.push({ kind: "join", call: joinCall(frame, local, feature), required: [local, ...frame.gates] });
    }
    if (feature.kept && !this.shape.history && !givenRows(this, frame, feature.kept.many)) {
      const call = tilesCall(this, frame, feature, feature.kept);
      if (typeof call !== "string") candidates.push({ kind: "expression", call, required: call.required });
    }
    const expression = (this.shape.history && feature.offlineExpression) ?? feature.expression;
    if (expression) {
      const call = expressionCall(this, frame, feature, expression);
      if (typeof call === "string") goal.obstacle = call;
      else candidates.push({ kind: "expression", call, required: call.required });
    }
    const { history } = this.shape;
    if (history && history.computed !== "all" && !history.computed.has(feature)) {
      goal.candidates = candidates;
      return;
    }
    for (const resolver of feature.producers) {
      const reason = this.unfit(resolver) ?? this.call(frame, resolver);
      if (typeof reason === "string") rejected.push({ resolver, reason });
      else candidates.push({ kind: "resolver", call: reason, required: reason.required });
    }
    for (const call of this.#keyFinders(goal)) candidates.push({ kind: "resolver", call, required: call.required });
    if (feature.defaultValue !== undefined) candidates.push({ kind: "default", call: undefined, required: frame.gates });
    goal.key = this.#storeKey(goal);
    if (goal.key) candidates.push({ kind: "stored", call: undefined, required: [goal.key, ...frame.gates] });
    goal.candidates = candidates;
    goal.rejected = rejected;
  }

  /** The resolver that alone may provide a goal. */
  #forcedFor({ frame, feature }: Goal): ResolverInfo | undefined {
    const { forcedResolver } = this.shape;
    if (forcedResolver === undefined || frame !== this.root || feature.primary) return undefined;
    return feature.producers.find(({ fqn }) => fqn === forcedResolver);
  }

  /**
   * For the primary key of a row that is joined on something else, the calls of queries that find
   * the row by that and have its key as a column.
   */
  #keyFinders(goal: Goal): CallNode[] {
    const { frame, feature } = goal;
    if (!feature.primary || frame.mode !== "join" || frame.relation?.onPrimaryKey) return [];
    const others = new Set(frame.namespace.scalars.flatMap((one) => one.producers));
    return [...others].flatMap((resolver) => {
      if (feature.producers.includes(resolver) || !gives(resolver, feature) || this.unfit(resolver) !== undefined) return [];
      const call = this.call(frame, resolver);
      return typeof call === "string" || call.required.includes(goal) ? [] : [call];
    });
  }

  /** The primary key by which the online store is read for a goal; undefined = it is not. */
  #storeKey({ staleMs, frame, feature }: Goal): Goal | undefined {
    const primary = frame.namespace.primaryKey;
    if (staleMs === 0 || !primary || primary === feature) return undefined;
    return frame.mode === "root" && !this.#givens.has(`${frame.path}.${primary.name}`) ? undefined : this.lookupGoal(frame, primary);
  }

  /**
   * The goal by whose value a row is looked up: of a join's far side the near side, which is known
   * before the row is.
   */
  lookupGoal(frame: FrameNode, feature: ScalarInfo): Goal {
    const pair = frame.mode === "join" ? frame.relation?.join.find((key) => key.foreign === feature) : undefined;
    return pair && frame.parent ? this.goal(frame.parent, pair.local) : this.goal(frame, feature);
  }

  /** The reason why a resolver cannot serve this query whatever its inputs. */
  unfit(resolver: ResolverInfo): string | undefined {
    let reason = this.#unfit.get(resolver);
    if (reason === undefined) {
      reason = whyUnfit(resolver, this.index.environmentName, this.shape) ?? null;
      this.#unfit.set(resolver, reason);
    }
    return reason ?? undefined;
  }

  /** The call of a resolver for a frame, or why it cannot be made. */
  call(frame: FrameNode, resolver: ResolverInfo): CallNode | string {
    const key = `${frame.id}|${resolver.fqn}`;
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = resolverCall(this, frame, resolver, key);
      this.#calls.set(key, call);
    }
    return call;
  }
}
