/**
 * Words about providers that the planner did not choose, and about goals that have none or too
 * many.
 */

import { readableName } from "../../../domain/name.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { Candidate, Choice, Goal } from "./goal-nodes.ts";
import type { Plan, PlanShape, PlanSlot } from "./plan.ts";

const MAX_CHAIN = 4;

/** A resolver with its place: `risk.score (risk.py:12)`. */
export function nameResolver(resolver: ResolverInfo): string {
  return resolver.place ? `${resolver.fqn} (${resolver.place})` : resolver.fqn;
}

/** Several resolvers fit and nothing separates them. */
export function ambiguousMessage(goal: Goal, resolvers: readonly ResolverInfo[]): string {
  const lines = resolvers.map((resolver) => {
    const tags = resolver.tags.length > 0 ? `, tags ${resolver.tags.map((tag) => `'${tag}'`).join(" and ")}` : "";
    return `\n  - ${nameResolver(resolver)}${tags}`;
  });
  const byTag = resolvers.some(({ tags }) => tags.length > 0)
    ? "leave out the tags of all but one, or name the tags of one with the planner option required_resolver_tags"
    : "give them different `tags` and pass one with the query";
  return (
    `ambiguous: ${resolvers.length} resolvers can produce ${readableName(goal.path)} for this query${lines.join("")}\n` +
    `To choose one: ${byTag}, restrict them to different \`environment\`s, ` +
    "give all but one a condition (`when`), or mark the one SQL resolver that has all rows with `total: true`"
  );
}

/** Nothing provides a goal: every resolver that produces the feature, and why it cannot run. */
export function missingMessage(goal: Goal, shape: PlanShape, can: (goal: Goal) => boolean): string {
  const given = shape.givens.map((one) =>
    readableName([shape.root.name, ...one.relations.map((r) => r.name), one.feature.name.replace(/=$/, "")].join(".")),
  );
  const from = given.length > 0 ? ` from ${given.length > 6 ? `${given.slice(0, 6).join(", ")}, ...` : given.join(", ")}` : "";
  const stuck = stuckGate(goal, can);
  if (stuck)
    return `${readableName(goal.path)} cannot be read${from}: its row needs ${readableName(stuck.path)}, ${whyMissing(stuck, can, [goal])}`;
  const lines = [
    ...(goal.obstacle === undefined
      ? []
      : [`\n  - ${goal.feature.expression ? "its expression" : readableName(goal.path)}: ${goal.obstacle}`]),
    ...goal.candidates.flatMap((candidate) =>
      candidate.kind === "expression" ? [`\n  - its expression: ${whyImpossible(candidate, can, [goal])}`] : [],
    ),
    ...goal.rejected.map(({ resolver, reason }) => `\n  - ${nameResolver(resolver)}: ${reason}`),
    ...goal.candidates.flatMap((candidate) => {
      if (candidate.kind !== "resolver" || !candidate.call?.resolver) return [];
      return [`\n  - ${nameResolver(candidate.call.resolver)}: ${whyImpossible(candidate, can, [goal])}`];
    }),
  ];
  if (lines.length === 0) {
    if (goal.feature.primary) return `${readableName(goal.path)} is the primary key, ${whyMissing(goal, can, [])}`;
    const unread = shape.options.disableCacheReads && goal.feature.stalenessMs > 0;
    const why = unread ? ", and the planner option disable_cache_reads keeps the query from the online store" : "";
    return `no resolver produces ${readableName(goal.feature.fqn)}${why}: give ${readableName(goal.path)} as an input, or write a resolver for it${unread ? "" : storedAdvice(goal)}`;
  }
  return `no resolver can produce ${readableName(goal.path)}${from}:${lines.join("")}`;
}

/** The reasons why the others lost against the chosen candidates, one line each. */
export function lostNotes(goal: Goal, chosen: Choice, viable: readonly Candidate[], can: (goal: Goal) => boolean): string[] {
  const winner = chosen.last ?? chosen.conditional[0];
  const notes = goal.rejected.map(({ resolver, reason }) => `not ${nameResolver(resolver)}: ${reason}`);
  for (const candidate of goal.candidates) {
    const resolver = candidate.call?.resolver;
    if (!resolver || !winner || candidate === winner || chosen.conditional.includes(candidate)) continue;
    notes.push(
      `not ${nameResolver(resolver)}: ${viable.includes(candidate) ? lostTo(resolver, winner) : whyImpossible(candidate, can, [goal])}`,
    );
  }
  return notes;
}

/** A row of which no condition of a slot's resolvers is true, and which nothing else computes. */
export function noConditionTrue(plan: Plan, slot: PlanSlot): string {
  const resolvers = plan.providersOf(slot).flatMap(({ resolver }) => resolver ?? []);
  const listed = resolvers.map((resolver) => `\n  - ${nameResolver(resolver)}: ${resolver.conditionText}`).join("");
  return `no resolver computes ${readableName(slot.path)} for this row, because no condition is true:${listed}\nWrite one without when=, or give ${readableName(slot.feature.fqn)} a default`;
}

function lostTo(resolver: ResolverInfo, chosen: Candidate): string {
  const winner = chosen.call?.resolver;
  if (chosen.kind === "expression") return "its expression gives the value";
  if (chosen.call?.source && !winner) return "the rows were given";
  if (!winner) return "the join gives the value";
  if (winner.tags.length > resolver.tags.length) return `${winner.fqn} matches more tags`;
  if (winner.total && !resolver.total) return `${winner.fqn} has all rows (total)`;
  return `${winner.fqn} ${chosen.call?.source ? "comes before it" : "is called for another feature anyway"}`;
}

function whyImpossible(candidate: Candidate, can: (goal: Goal) => boolean, trail: readonly Goal[]): string {
  const missing = candidate.required.filter((needed) => !can(needed) || trail.includes(needed));
  if (missing.length === 0) return "its inputs depend on the feature itself";
  const [first, ...others] = missing as [Goal, ...Goal[]];
  if (first === trail.at(-1)) return `it takes ${readableName(first.path)} itself`;
  const more = others.length > 0 ? ` (and ${others.map((goal) => readableName(goal.path)).join(", ")})` : "";
  return `it needs ${readableName(first.path)}, ${whyMissing(first, can, trail)}${more}`;
}

function stuckGate(goal: Goal, can: (goal: Goal) => boolean): Goal | undefined {
  return goal.frame.gates.find((gate) => !can(gate));
}

/** A clause that follows the goal's name: `which no resolver produces and which was not given`. */
function whyMissing(goal: Goal, can: (goal: Goal) => boolean, trail: readonly Goal[]): string {
  const at = trail.indexOf(goal);
  if (at >= 0) return `which is a cycle (${[...trail.slice(at), goal].map((one) => readableName(one.path)).join(" -> ")})`;
  if (trail.length >= MAX_CHAIN) return "which cannot be derived either";
  const stuck = stuckGate(goal, can);
  if (stuck) return `whose row needs ${readableName(stuck.path)}, ${whyMissing(stuck, can, [...trail, goal])}`;
  const { relation, mode } = goal.frame;
  const byExpression = goal.candidates.find((candidate) => candidate.kind === "expression");
  if (byExpression) return `whose expression cannot be evaluated: ${whyImpossible(byExpression, can, [...trail, goal])}`;
  const byResolver = goal.candidates.find((candidate) => candidate.kind === "resolver" && !candidate.required.includes(goal));
  if (byResolver?.call?.resolver)
    return `which ${byResolver.call.resolver.fqn} could give, but ${whyImpossible(byResolver, can, [...trail, goal])}`;
  if (goal.feature.primary && relation && !relation.onPrimaryKey && mode === "join") {
    const far = relation.join.map((pair) => pair.foreign.fqn).join(" and ");
    return `but ${relation.fqn} joins on ${far} and no resolver gives ${readableName(goal.feature.fqn)} for it: add one that takes ${far}, or a SQL resolver that selects both`;
  }
  const [rejected] = goal.rejected;
  if (rejected) return `which was not given, and ${nameResolver(rejected.resolver)} cannot run: ${rejected.reason}`;
  if (goal.obstacle) return `which cannot be computed: ${goal.obstacle}`;
  return `which was not given and which no resolver produces${storedAdvice(goal)}`;
}

/** What has queries find the values of a feature that a stream or an upload stores. */
function storedAdvice({ feature, frame }: Goal): string {
  const isOnline = feature.storesOnline && feature.featureId !== undefined && !feature.primary && frame.namespace.primaryKey !== undefined;
  if (!isOnline || feature.stalenessMs > 0) return "";
  if (feature.stream !== undefined)
    return ` (the stream ${feature.stream} gives it: with max_staleness="infinity" queries read what it stores from then on)`;
  return ` (if its values are uploaded: give it max_staleness="infinity", apply, and upload them again)`;
}
