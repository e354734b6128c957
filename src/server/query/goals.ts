/** The goal graph: every feature that a query could need, with everything that could provide it. */

import type { GraphIndex } from "./graph-index.ts";
import { pathOf } from "./graph-index.ts";
import type { NamespaceInfo, ParameterInfo, RelationInfo, ResolverInfo, ScalarInfo } from "./index-types.ts";
import type { FrameMode, PlanShape } from "./plan.ts";

/** More goals than this are not planned: the request is refused. */
export const MAX_GOALS = 10_000;
const MAX_DEPTH = 32;

/** The row of a relation path while planning. */
export interface FrameNode {
  readonly id: number;
  readonly path: string;
  readonly parent: FrameNode | undefined;
  readonly relation: RelationInfo | undefined;
  readonly namespace: NamespaceInfo;
  readonly mode: FrameMode;
  readonly optional: boolean;
  readonly relations: readonly RelationInfo[];
  /** Goals that the row's existence depends on. */
  gates: readonly Goal[];
  readonly children: Map<RelationInfo, FrameNode>;
  readonly goals: Map<ScalarInfo, Goal>;
}

/** A feature of a frame, wanted. */
export interface Goal {
  readonly id: number;
  readonly frame: FrameNode;
  readonly feature: ScalarInfo;
  readonly path: string;
  /** Position among the given values, or -1. */
  readonly given: number;
  /** What could provide it. */
  candidates: readonly Candidate[];
  /** Resolvers that produce the feature but are out of the question here, and why. */
  rejected: readonly Rejection[];
  /** The primary key by which the online store would be read; undefined = it is not read. */
  key: Goal | undefined;
  /** Effective staleness in milliseconds. */
  staleMs: number;
}

/** A resolver that is out of the question. */
export interface Rejection {
  readonly resolver: ResolverInfo;
  readonly reason: string;
}

/** A way to provide a goal. `stored` = only from the online store, `default` = only by the feature's default. */
export interface Candidate {
  readonly kind: "join" | "resolver" | "default" | "stored";
  readonly call: CallNode | undefined;
  /** Goals without which it is impossible. */
  readonly required: readonly Goal[];
}

/** A call of a resolver for a frame (or a join's copy); shared by the goals that it provides. */
export interface CallNode {
  readonly key: string;
  readonly kind: "python" | "sql" | "join";
  readonly frame: FrameNode;
  readonly resolver: ResolverInfo | undefined;
  readonly inputs: readonly { readonly parameter: ParameterInfo; readonly goal: Goal | undefined; readonly nullable: boolean }[];
  /** Inputs that must be derivable, and the gates of the frame. */
  readonly required: readonly Goal[];
  readonly keys: readonly ScalarInfo[];
}

/** The query has more possible goals than are planned. */
export class PlanTooLarge extends Error {
  override readonly name = "PlanTooLarge";
}

/** Builds the goals of a shape, from its outputs to whatever they could be derived from. */
export class GoalGraph {
  readonly goals: Goal[] = [];
  readonly frames: FrameNode[] = [];
  readonly root: FrameNode;
  readonly #calls = new Map<string, CallNode | string>();
  readonly #modes = new Map<string, FrameMode>();
  readonly #givens = new Map<string, number>();
  readonly #repeats = new Map<RelationInfo, number>();

  constructor(
    readonly index: GraphIndex,
    readonly shape: PlanShape,
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

  /** The goals of the shape's outputs, all they could need expanded. */
  outputs(): Goal[] {
    const outputs = this.shape.outputs.map((output) => this.goal(this.#reach(output.relations), output.feature));
    for (let next = 0; next < this.goals.length; next++) this.#expand(this.goals[next] as Goal);
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
      staleMs: feature.featureId === undefined ? 0 : (this.shape.staleness.get(feature.fqn) ?? feature.stalenessMs),
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

  /** The frame at the end of relations, or why the planner does not go there. */
  #descend(from: FrameNode, relations: readonly RelationInfo[]): FrameNode | string {
    let frame = from;
    for (const relation of relations) {
      const known = frame.children.get(relation);
      if (known) {
        frame = known;
        continue;
      }
      const seen = frame.relations.filter((passed) => passed === relation).length;
      if (seen > (this.#repeats.get(relation) ?? 0) || frame.relations.length >= MAX_DEPTH)
        return `it would follow ${relation.fqn} once more from ${frame.path}`;
      frame = this.#frame(frame, relation, relation.foreign);
    }
    return frame;
  }

  #expand(goal: Goal): void {
    const { frame, feature } = goal;
    if (goal.given >= 0 || frame.mode === "absent") return;
    const candidates: Candidate[] = [];
    const rejected: Rejection[] = [];
    const pair = frame.mode === "join" || frame.mode === "open" ? frame.relation?.join.find((key) => key.foreign === feature) : undefined;
    if (pair && frame.parent) {
      const local = this.goal(frame.parent, pair.local);
      candidates.push({ kind: "join", call: joinCall(frame, local, feature), required: [local, ...frame.gates] });
    }
    for (const resolver of feature.producers) {
      const reason = this.#unfit(resolver) ?? this.#call(frame, resolver);
      if (typeof reason === "string") rejected.push({ resolver, reason });
      else candidates.push({ kind: "resolver", call: reason, required: reason.required });
    }
    if (feature.defaultValue !== undefined) candidates.push({ kind: "default", call: undefined, required: frame.gates });
    const primary = frame.namespace.primaryKey;
    if (goal.staleMs > 0 && primary && primary !== feature) {
      const key = frame.mode === "root" && !this.#givens.has(`${frame.path}.${primary.name}`) ? undefined : this.goal(frame, primary);
      if (key) {
        goal.key = key;
        candidates.push({ kind: "stored", call: undefined, required: [key, ...frame.gates] });
      }
    }
    goal.candidates = candidates;
    goal.rejected = rejected;
  }

  /** Why a resolver cannot serve this query whatever its inputs. */
  #unfit(resolver: ResolverInfo): string | undefined {
    if (resolver.broken) return resolver.broken;
    if (resolver.offline) return "it is offline only";
    const { environmentName } = this.index;
    if (resolver.environments.length > 0 && !resolver.environments.includes(environmentName))
      return `it exists in the environments ${resolver.environments.join(", ")}, not in ${environmentName}`;
    const missing = resolver.tags.filter((tag) => !this.shape.tags.some((given) => given === tag || given.startsWith(`${tag}:`)));
    if (missing.length > 0)
      return `it needs the tag${missing.length > 1 ? "s" : ""} ${missing.map((tag) => `'${tag}'`).join(" and ")}, which the query does not carry`;
    return undefined;
  }

  #call(frame: FrameNode, resolver: ResolverInfo): CallNode | string {
    const key = `${frame.id}|${resolver.fqn}`;
    let call = this.#calls.get(key);
    if (call === undefined) {
      call = this.#makeCall(frame, resolver, key);
      this.#calls.set(key, call);
    }
    return call;
  }

  #makeCall(frame: FrameNode, resolver: ResolverInfo, key: string): CallNode | string {
    const { sql } = resolver;
    const required = new Set<Goal>(frame.gates);
    if (sql && sql.parameters.length === 0) {
      const keys = scanKeys(frame, resolver);
      if (typeof keys === "string") return keys;
      const inputs = keys.map((feature) => ({ parameter: keyParameter(feature), goal: this.goal(frame, feature), nullable: false }));
      for (const input of inputs) required.add(input.goal);
      return { key, kind: "sql", frame, resolver, inputs, required: [...required], keys };
    }
    const inputs: CallNode["inputs"][number][] = [];
    for (const parameter of resolver.inputs) {
      if (!parameter.feature) {
        inputs.push({ parameter, goal: undefined, nullable: true });
        continue;
      }
      const reached = this.#descend(frame, parameter.relations);
      if (typeof reached === "string" && !parameter.optional) return reached;
      const goal = typeof reached === "string" ? undefined : this.goal(reached, parameter.feature);
      if (goal && !parameter.optional) required.add(goal);
      inputs.push({ parameter, goal, nullable: parameter.relations.some((relation) => relation.optional) });
    }
    return { key, kind: sql ? "sql" : "python", frame, resolver, inputs, required: [...required], keys: [] };
  }
}

function joinCall(frame: FrameNode, local: Goal, feature: ScalarInfo): CallNode {
  return {
    key: `${frame.id}|join|${feature.fqn}`,
    kind: "join",
    frame,
    resolver: undefined,
    inputs: [{ parameter: keyParameter(local.feature), goal: local, nullable: false }],
    required: [local],
    keys: [],
  };
}

function keyParameter(feature: ScalarInfo): ParameterInfo {
  return { name: feature.name, now: false, relations: [], feature, optional: false, hasDefault: false };
}

/** What the rows of a SQL query without placeholders are looked up by: the join's far side unless that is the primary key alone, else the key. */
function scanKeys(frame: FrameNode, resolver: ResolverInfo): readonly ScalarInfo[] | string {
  const columns = resolver.sql?.columns;
  const { relation } = frame;
  const byKeyAlone = relation?.onPrimaryKey && relation.join.length === 1;
  if (relation && !byKeyAlone && (frame.mode === "join" || frame.mode === "open")) {
    const far = relation.join.map((pair) => pair.foreign);
    if (far.every((feature) => columns?.has(feature.fqn))) return far;
  }
  const primary = frame.namespace.primaryKey;
  if (primary && columns?.has(primary.fqn)) return [primary];
  return `its query has no placeholder and no column for the primary key ${primary?.fqn ?? frame.namespace.name}, so its row cannot be looked up`;
}
