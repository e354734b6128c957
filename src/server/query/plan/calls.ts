/** Calls of resolvers and evaluations of expressions, with what they need. */

import type { Expression } from "../../../../gen/svc/v1/graph_pb.ts";
import type { KeptInfo, ResolverInfo, RowsParameter, ScalarInfo } from "../graph/index-types.ts";
import { resolveName } from "../request/names.ts";
import { needsOfParameter, needsOfRelation } from "./child-plan.ts";
import { type CallNode, type FrameNode, type Goal, hiddenParameter, keyParameter } from "./goal-nodes.ts";
import type { GoalGraph } from "./goals.ts";
import type { RowsNeeds } from "./plan.ts";
import { rowsProblem } from "./rows-candidates.ts";

/** A call of a resolver, or why it cannot be made for the frame. */
export function resolverCall(graph: GoalGraph, frame: FrameNode, resolver: ResolverInfo, key: string): CallNode | string {
  const { sql } = resolver;
  const isRecursive = graph.index.recursive.resolvers.has(resolver.fqn);
  const required = new Set<Goal>(frame.gates);
  if (sql ? sql.parameters.every((parameter) => parameter.now) : resolver.shape === "rows" && resolver.inputs.every((input) => input.now)) {
    const keys = scanKeys(frame, resolver);
    if (typeof keys === "string") return keys;
    const inputs = keys.map((feature) => ({ parameter: keyParameter(feature), goal: graph.lookupGoal(frame, feature), nullable: false }));
    for (const input of inputs) required.add(input.goal);
    return { key, kind: sql ? "sql" : "scan", frame, resolver, inputs, required: [...required], keys };
  }
  const inputs: CallNode["inputs"][number][] = [];
  const needs: { goal: Goal; needs: RowsNeeds }[] = [];
  for (const parameter of resolver.inputs) {
    if (!parameter.feature) {
      inputs.push({ parameter, goal: undefined, nullable: true });
      continue;
    }
    const reached = graph.descend(frame, parameter.relations, isRecursive);
    if (typeof reached === "string" && !parameter.optional) return reached;
    const seek = sql && reached === frame ? graph.lookupGoal(frame, parameter.feature) : undefined;
    const goal = typeof reached === "string" ? undefined : (seek ?? graph.goal(reached, parameter.feature));
    if (goal && (!parameter.optional || parameter.table)) required.add(goal);
    if (goal && parameter.rows) {
      const found = parameterNeeds(graph, parameter.rows);
      const problem = typeof found === "string" ? found : rowsProblem(graph, goal, found);
      if (problem !== undefined) return `its parameter ${parameter.name}: ${problem}`;
      if (typeof found !== "string") needs.push({ goal, needs: found });
    }
    inputs.push({ parameter, goal, nullable: parameter.relations.some((relation) => relation.optional) });
  }
  if (resolver.shape === "rows") {
    const primary = frame.namespace.primaryKey;
    if (!primary || !resolver.outputs.has(primary.fqn))
      return `its rows have no primary key${primary ? ` ${primary.fqn}` : ""}, so they cannot be told apart`;
    const goal = graph.goal(frame, primary);
    required.add(goal);
    if (!inputs.some((input) => input.goal === goal)) inputs.push({ parameter: hiddenParameter(primary), goal, nullable: false });
    return { key, kind: "python", frame, resolver, inputs, required: [...required], keys: [primary], needs };
  }
  const isTranslated = resolver.translation !== undefined && !graph.shape.options.disableTranslation;
  const kind = sql ? "sql" : isTranslated ? "translated" : "python";
  const condition = resolver.condition && graph.goal(frame, resolver.condition);
  if (condition) required.add(condition);
  return { key, kind, frame, resolver, inputs, required: [...required], keys: [], needs, condition };
}

/** The child features that a parameter reads, or why it cannot. */
function parameterNeeds(graph: GoalGraph, rows: RowsParameter): RowsNeeds | string {
  const filters = [];
  for (const filter of rows.filters) {
    const compiled = graph.index.compile(filter, rows.many.foreign);
    if (typeof compiled === "string") return compiled;
    filters.push(compiled);
  }
  return needsOfParameter(rows, filters);
}

/** The evaluation of a feature's expression, or why it cannot be evaluated here. */
export function expressionCall(graph: GoalGraph, frame: FrameNode, feature: ScalarInfo, expression: Expression): CallNode | string {
  const compiled = graph.index.compile(expression, feature);
  if (typeof compiled === "string") return compiled;
  const { recursive } = graph.index;
  const isRecursive =
    feature.conditionOf === undefined ? recursive.expressions.has(feature.fqn) : recursive.resolvers.has(feature.conditionOf);
  const inputs: CallNode["inputs"][number][] = [];
  const needs: { goal: Goal; needs: RowsNeeds }[] = [];
  const required = new Set<Goal>(frame.gates);
  const reach = (path: string): { goal: Goal; nullable: boolean } | string => {
    const target = resolveName(graph.index, `.${frame.namespace.name}.${path}`, undefined);
    if (target.kind !== "feature" && (target.kind !== "rows" || target.picks))
      return `it reads ${path}, which is no feature of ${frame.namespace.name}`;
    const reached = graph.descend(frame, target.relations, isRecursive);
    if (typeof reached === "string") return reached;
    const goal = graph.goal(reached, target.kind === "feature" ? target.feature : target.many.rows);
    return { goal, nullable: true };
  };
  for (const path of compiled.references.columns) {
    const found = reach(path);
    if (typeof found === "string") return found;
    required.add(found.goal);
    inputs.push({ parameter: { ...keyParameter(found.goal.feature), name: path }, ...found });
  }
  for (const relation of compiled.references.relations) {
    const found = reach(relation.path);
    if (typeof found === "string") return found;
    const problem = rowsProblem(graph, found.goal, needsOfRelation(relation));
    if (problem) return problem;
    required.add(found.goal);
    needs.push({ goal: found.goal, needs: needsOfRelation(relation) });
    inputs.push({ parameter: { ...keyParameter(found.goal.feature), name: relation.path }, ...found });
  }
  return {
    key: `${frame.id}|expression|${feature.fqn}`,
    kind: "expression",
    frame,
    resolver: undefined,
    inputs,
    required: [...required],
    keys: [],
    expression: compiled,
    needs,
  };
}

/**
 * The aggregate of a kept window: tiles, and the rows of its edges. Where nothing gives its rows,
 * tiles alone.
 */
export function tilesCall(graph: GoalGraph, frame: FrameNode, feature: ScalarInfo, kept: KeptInfo): CallNode | string {
  const compiled = feature.expression && graph.index.compile(feature.expression, feature);
  if (!compiled || typeof compiled === "string") return compiled ?? "it has no expression";
  const test = compiled.references.relations[0]?.test;
  const needs: RowsNeeds = { paths: new Set(kept.window.series.reads), all: false, relations: new Map(), test };
  const inputs: CallNode["inputs"][number][] = kept.many.join.map((pair) => ({
    ...{ parameter: keyParameter(pair.local), goal: graph.goal(frame, pair.local), nullable: true },
  }));
  const edges = graph.goal(frame, kept.edges);
  const problem = rowsProblem(graph, edges, needs);
  if (problem !== undefined) return problem;
  const hasRows = edges.candidates.length > 0;
  if (hasRows) inputs.push({ parameter: keyParameter(kept.edges), goal: edges, nullable: true });
  return {
    ...{ key: `${frame.id}|tiles|${feature.fqn}`, kind: "tiles", frame, resolver: undefined, inputs, keys: [] },
    required: [...new Set([...frame.gates, ...inputs.flatMap((input) => input.goal ?? [])])],
    needs: hasRows ? [{ goal: edges, needs }] : [],
  };
}

/** The copy of the near side's value to the far side of a join. */
export function joinCall(frame: FrameNode, local: Goal, feature: ScalarInfo): CallNode {
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

/**
 * Whether a resolver's rows have a feature; a query's columns may be more than what it is said to
 * resolve.
 */
export function gives(resolver: ResolverInfo, feature: ScalarInfo): boolean {
  return resolver.sql ? resolver.sql.columns.has(feature.fqn) : resolver.outputs.has(feature.fqn);
}

/**
 * The features that the rows of a resolver without inputs are looked up by: the join's far side
 * unless that is the primary key alone, else the key.
 */
function scanKeys(frame: FrameNode, resolver: ResolverInfo): readonly ScalarInfo[] | string {
  const { relation } = frame;
  const byKeyAlone = relation?.onPrimaryKey && relation.join.length === 1;
  if (relation && !byKeyAlone && (frame.mode === "join" || frame.mode === "open")) {
    const far = relation.join.map((pair) => pair.foreign);
    if (far.every((feature) => gives(resolver, feature))) return far;
  }
  const primary = frame.namespace.primaryKey;
  if (primary && gives(resolver, primary)) return [primary];
  if (!resolver.sql) return `its rows have no primary key ${primary?.fqn ?? frame.namespace.name}, so they cannot be told apart`;
  return `its query has no placeholder for a feature and no column for the primary key ${primary?.fqn ?? frame.namespace.name}, so its row cannot be looked up`;
}
