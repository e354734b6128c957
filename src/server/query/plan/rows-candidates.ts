/** The access paths to the rows of a has-many relation. */

import type { ManyInfo, NearestInfo, RelationInfo, ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import { QueryRefused } from "../refusal.ts";
import { gives, resolverCall } from "./calls.ts";
import { needsKey, passedTooOften, planChildren, type RowsSource, staleMs } from "./child-plan.ts";
import { type CallNode, type Candidate, type FrameNode, type Goal, hiddenParameter, keyParameter, type Rejection } from "./goal-nodes.ts";
import type { GoalGraph } from "./goals.ts";
import type { PathFeature, RowsNeeds } from "./plan.ts";

/** The candidates for a goal of child rows. */
export interface RowsCandidates {
  readonly candidates: readonly Candidate[];
  readonly rejected: readonly Rejection[];
  /** The reason why there are no candidates. */
  readonly obstacle?: string;
}

type Inputs = CallNode["inputs"];

/**
 * An access path: the call and its inputs, the features that it provides, and the keys of its rows.
 */
interface AccessPath {
  readonly source: RowsSource;
  readonly resolver?: ResolverInfo;
  readonly inputs: Inputs;
  readonly required: readonly Goal[];
  readonly keys?: readonly ScalarInfo[];
  readonly needs?: CallNode["needs"];
}

/**
 * Given rows; else resolvers that return them, then queries by the join, then scans filtered by it.
 */
export function rowsCandidates(graph: GoalGraph, goal: Goal, many: ManyInfo): RowsCandidates {
  const { frame } = goal;
  const candidates: Candidate[] = [];
  const rejected: Rejection[] = [];
  const add = (rank: number, { source, resolver, inputs, required, keys = [], needs }: AccessPath) => {
    const key = `${frame.id}|rows|${goal.feature.fqn}|${resolver?.fqn ?? ""}`;
    const all = [...new Set([...frame.gates, ...required])];
    const call: CallNode = { key, kind: "rows", frame, resolver, inputs, required: all, keys, source, needs };
    candidates.push({ kind: "resolver", call, required: all, rank });
  };
  const given = givenRows(graph, frame, many);
  if (given) {
    const list = graph.goal(frame, many.given);
    const { columns = [], rows = [] } = given.given ?? {};
    const own = columns.flatMap(({ relations, feature }) => (relations.length === 0 ? [feature] : []));
    const known = parentKeys(graph, goal, many, own);
    const nested = columns.filter((column) => column.relations.length > 0);
    add(0, {
      source: { kind: "given", givens: [...own, ...known.features], nested: { columns: nested, rows } },
      inputs: [...known.inputs, { parameter: keyParameter(many.given), goal: list, nullable: true }],
      required: [list, ...known.goals],
    });
    return { candidates, rejected };
  }
  const tooOften = passedTooOften(graph.index, many, graph.shape);
  if (tooOften) return { candidates, rejected, obstacle: tooOften };
  const nearest = many.nearest && nearestPath(graph, goal, many, many.nearest);
  if (nearest && typeof nearest !== "string") add(2, nearest);
  for (const resolver of new Set([...many.fillers, ...many.foreign.scalars.flatMap((feature) => feature.producers)])) {
    const path = resolver.shape === "relation" ? relationPath(graph, goal, many, resolver) : joinPath(graph, goal, many, resolver);
    if (path === undefined) continue;
    const reason = graph.unfit(resolver) ?? (typeof path === "string" ? path : undefined);
    if (reason !== undefined) rejected.push({ resolver, reason });
    else if (typeof path !== "string") add(resolver.shape === "relation" ? 1 : resolver.sql ? 2 : 3, path);
  }
  return { candidates, rejected, ...(typeof nearest === "string" && { obstacle: nearest }) };
}

/** The rows whose vector is nearest, or why they are not looked for. */
function nearestPath(graph: GoalGraph, { frame }: Goal, { foreign }: ManyInfo, nearest: NearestInfo): AccessPath | string {
  const { primaryKey } = foreign;
  const { shape } = graph;
  if (shape.history) return "the nearest rows are those that are stored online now, and what was stored then is not known";
  if (!primaryKey) return `${foreign.className} has no primary key, by which its rows are stored`;
  const conditions = [...nearest.equal, ...nearest.containing];
  const read = new Set([nearest, ...conditions].map((pair) => pair.foreign));
  for (const filter of nearest.filters) {
    const compiled = graph.index.compile(filter, foreign);
    if (typeof compiled === "string") return compiled;
    for (const path of compiled.references.columns) {
      const feature = foreign.members.get(path);
      if (feature?.kind !== "scalar") return `its condition reads ${path}, which is no feature of ${foreign.className} itself`;
      read.add(feature);
    }
  }
  const unread = [...read].find((one) => !one.primary && staleMs(shape, one) === 0);
  if (unread) return `this query takes no stored value of ${unread.fqn}, and the nearest rows are those that are stored`;
  const inputs = [nearest, ...conditions].map(({ local }) => ({
    ...{ parameter: keyParameter(local), goal: graph.goal(frame, local), nullable: false },
  }));
  return {
    source: { kind: "nearest", givens: [primaryKey, ...(nearest.distance ? [nearest.distance] : [])] },
    inputs,
    required: inputs.map((input) => input.goal),
  };
}

/**
 * Features of the join that the rows do not have themselves, where the parent's values are given
 * with the query.
 */
function parentKeys(
  graph: GoalGraph,
  { frame }: Goal,
  many: ManyInfo,
  known: readonly ScalarInfo[],
): { readonly features: readonly ScalarInfo[]; readonly goals: readonly Goal[]; readonly inputs: Inputs } {
  const pairs = many.join
    .filter((pair) => !known.includes(pair.foreign))
    .map((pair) => ({ foreign: pair.foreign, goal: graph.goal(frame, pair.local) }))
    .filter((pair) => pair.goal.given >= 0);
  return {
    features: pairs.map((pair) => pair.foreign),
    goals: pairs.map((pair) => pair.goal),
    inputs: pairs.map(({ goal }) => ({ parameter: hiddenParameter(goal.feature), goal, nullable: true })),
  };
}

/** A resolver that returns the rows of the relation. */
function relationPath(graph: GoalGraph, goal: Goal, many: ManyInfo, resolver: ResolverInfo): AccessPath | string {
  const call = resolverCall(graph, goal.frame, resolver, "");
  if (typeof call === "string") return call;
  const known = parentKeys(graph, goal, many, resolver.features);
  return {
    source: { kind: "relation", givens: [...resolver.features, ...known.features] },
    resolver,
    inputs: [...call.inputs, ...known.inputs],
    required: [...call.required, ...known.goals],
    needs: call.needs,
  };
}

/**
 * Rows of the child's class by the join: a scan, a query, or a query that takes the join's
 * features. Undefined = the resolver returns no rows.
 */
function joinPath(graph: GoalGraph, { frame }: Goal, many: ManyInfo, resolver: ResolverInfo): AccessPath | string | undefined {
  if (many.join.length === 0) return undefined;
  const joined = many.join.map((pair) => pair.foreign);
  const locals = many.join.map((pair) => ({ parameter: keyParameter(pair.local), goal: graph.goal(frame, pair.local), nullable: false }));
  const required = locals.map((local) => local.goal);
  const kind = resolver.sql ? "sql" : "scan";
  const givens = [...new Set([...many.foreign.scalars.filter((feature) => gives(resolver, feature)), ...joined])];
  const source: RowsSource = { kind, givens };
  const parameters = resolver.sql?.parameters ?? resolver.inputs;
  if ((resolver.sql || resolver.shape === "rows") && parameters.every((parameter) => parameter.now)) {
    const missing = joined.filter((feature) => !gives(resolver, feature)).map((feature) => feature.fqn);
    if (missing.length > 0) return `its rows have no ${missing.join(" and no ")} to join by`;
    return { source, resolver, inputs: locals, required, keys: joined };
  }
  if (!resolver.sql?.all) return undefined;
  const inputs = parameters.map((parameter) => {
    if (parameter.now) return { parameter, goal: undefined, nullable: true };
    return parameter.relations.length === 0 ? locals[joined.indexOf(parameter.feature as ScalarInfo)] : undefined;
  });
  if (!inputs.every((input) => input !== undefined)) return undefined;
  return { source, resolver, inputs, required };
}

/** The rows of a relation that were given with the query; undefined = none were. */
export function givenRows(graph: GoalGraph, frame: FrameNode, many: ManyInfo): PathFeature | undefined {
  return graph.shape.givens.find((one) => one.feature === many.given && samePath(one.relations, frame.relations));
}

function samePath(a: readonly RelationInfo[], b: readonly RelationInfo[]): boolean {
  return a.length === b.length && a.every((relation, position) => relation === b[position]);
}

/**
 * The reason why no source of child rows can provide what is needed of them; undefined = one can,
 * or there is no source, which the goal itself reports.
 */
export function rowsProblem(graph: GoalGraph, goal: Goal, needs: RowsNeeds): string | undefined {
  graph.expand(goal);
  const many = goal.feature.rowsOf;
  let problem: string | undefined;
  for (const { call } of goal.candidates) {
    if (!call?.source || !many) continue;
    const key = `${call.key}|${needsKey(needs)}`;
    let found = graph.childProblems.get(key);
    if (found === undefined) {
      found = childProblem(graph, many, call.source, needs);
      graph.childProblems.set(key, found);
    }
    if (found === null) return undefined;
    problem = found;
  }
  return problem;
}

function childProblem(graph: GoalGraph, many: ManyInfo, source: RowsSource, needs: RowsNeeds): string | null {
  try {
    planChildren(graph.index, many, source, needs, graph.shape, graph.plan);
    return null;
  } catch (error) {
    if (error instanceof QueryRefused) return error.errors.map((one) => one.message).join("; ");
    throw error;
  }
}
