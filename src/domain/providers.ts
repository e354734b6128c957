/**
 * What can give a feature, in the order in which a query takes it: the planner's rules, as far as
 * they do not depend on one query.
 */

import { type Feature, type Graph, type Nearest, OutputShape, type Resolver, ResolverKind } from "../../gen/svc/v1/graph_pb.ts";
import { hasDefault } from "./derivation.ts";
import { formatDuration } from "./duration.ts";
import { isInEnvironment } from "./in-environment.ts";
import { durationToMs } from "./proto-time.ts";

/** Kinds of providers. */
export type ProviderKind = "onlineStore" | "join" | "expression" | "resolver" | "default";

/** A provider. */
export interface Provider {
  readonly kind: ProviderKind;
  /** FQN of the resolver; empty for others. */
  readonly resolver: string;
  /** Whether online queries of the environment may take it. */
  readonly usable: boolean;
  /** Why it has its place, or is not taken. */
  readonly reason: string;
}

/** The providers of a feature in an environment; what no query takes comes last. */
export function providersOf(graph: Graph, feature: Feature, environmentName: string): Provider[] {
  const { kind, maxStaleness } = feature;
  const found: Provider[] = [];
  const add = (of: ProviderKind, reason: string) => found.push({ kind: of, resolver: "", usable: true, reason });
  const stalenessMs = maxStaleness ? durationToMs(maxStaleness) : 0;
  const stores = kind.case !== "scalar" || kind.value.storeOnline !== false;
  const isPrimary = kind.case === "scalar" && kind.value.primary;
  if (stalenessMs > 0 && stores && !isPrimary)
    add(
      "onlineStore",
      Number.isFinite(stalenessMs) ? `while the stored value is at most ${formatDuration(stalenessMs)} old` : "a stored value of any age",
    );
  if (kind.case === "hasOne") add("join", `finds the row of ${kind.value.foreignNamespace} by its join`);
  if (kind.case === "scalar" && kind.value.expression) add("expression", "an expression comes before all resolvers");
  if (kind.case === "scalar" && kind.value.offlineExpression) {
    const reason = "offline queries compute it by offline_expression";
    found.push({ kind: "expression", resolver: "", usable: false, reason });
  }
  const givers = graph.resolvers
    .filter((resolver) => gives(resolver, feature))
    .map((resolver) => ({ resolver, unfit: whyUnfit(resolver, environmentName) }));
  const fit = givers.filter(({ unfit }) => unfit === undefined).map(({ resolver }) => resolver);
  const hasExpression = found.some(({ kind: of, usable }) => of === "expression" && usable);
  for (const resolver of fit.sort(byChoice)) {
    found.push({
      kind: "resolver",
      resolver: resolver.fqn,
      usable: !hasExpression,
      reason: hasExpression ? "its expression gives the value" : whyHere(resolver, fit),
    });
  }
  if (kind.case === "hasMany" && kind.value.nearest) add("join", nearestText(kind.value.nearest));
  else if (kind.case === "hasMany") add("join", `rows of ${kind.value.foreignNamespace} that resolvers of that class find by the join`);
  if (hasDefault(feature)) add("default", "when nothing else gives a value");
  for (const { resolver, unfit } of givers)
    if (unfit !== undefined) found.push({ kind: "resolver", resolver: resolver.fqn, usable: false, reason: unfit });
  const stored = found.some(({ kind: of }) => of === "onlineStore");
  for (const { fqn } of graph.streamResolvers.filter(({ outputs }) => outputs.includes(feature.fqn)))
    found.push({
      ...{ kind: "resolver", resolver: fqn, usable: false },
      reason: `messages run it${stored || isPrimary ? ", and the online store has what it gives" : "; without max_staleness no query reads what it gives"}`,
    });
  return [...found.filter(({ usable }) => usable), ...found.filter(({ usable }) => !usable)];
}

/**
 * Whether a resolver gives a feature, or may, as a `select *` whose columns nobody has looked up.
 */
function gives(resolver: Resolver, { fqn, kind, namespace }: Feature): boolean {
  if (resolver.outputShape === OutputShape.RELATION) return resolver.relation === fqn;
  if (resolver.outputs.includes(fqn)) return true;
  const { body } = resolver;
  return (
    body.case === "sql" && body.value.star && resolver.outputs.length === 0 && body.value.namespace === namespace && kind.case === "scalar"
  );
}

/** The reason why no online query of an environment takes a resolver; undefined = it may. */
function whyUnfit({ kind, environments }: Resolver, environmentName: string): string | undefined {
  if (kind === ResolverKind.OFFLINE) return "it is offline only";
  if (!isInEnvironment(environments, environmentName))
    return `it exists in the environments ${environments.join(", ")}, not in ${environmentName}`;
  return undefined;
}

/**
 * More tags first, then those with a condition in the order of their places, then those that have
 * all rows.
 */
function byChoice(one: Resolver, other: Resolver): number {
  const byTags = other.tags.length - one.tags.length || Number(other.when !== undefined) - Number(one.when !== undefined);
  return byTags || (one.when ? byPlace(one, other) : Number(other.total) - Number(one.total)) || (one.fqn < other.fqn ? -1 : 1);
}

/** The order in which the conditions of resolvers are tested. */
export function byPlace({ span: one }: Pick<Resolver, "span">, { span: other }: Pick<Resolver, "span">): number {
  if (!one || !other) return 0;
  return one.file === other.file ? one.line - other.line : one.file < other.file ? -1 : 1;
}

function whyHere(resolver: Resolver, all: readonly Resolver[]): string {
  const needs =
    resolver.tags.length > 0 ? `for queries with ${resolver.tags.length === 1 ? "the tag" : "the tags"} ${resolver.tags.join(", ")}` : "";
  const alike = all.filter((one) => one !== resolver && one.tags.length === resolver.tags.length);
  const rivals = alike.filter((one) => one.total === resolver.total && !one.when);
  const inputs = resolver.inputs.length > 0 ? "" : "it takes no inputs";
  const place = resolver.when
    ? `where ${resolver.whenText} is true${alike.some((one) => one.when && byPlace(one, resolver) < 0) ? ", and no condition before it" : ""}`
    : alike.some(({ when }) => when)
      ? "where no condition is true"
      : all.length === 1
        ? "the only resolver"
        : resolver.total
          ? "it has all rows (total)"
          : rivals.length > 0
            ? "where the inputs of the others are missing"
            : "";
  return [needs, place, inputs].filter((part) => part !== "").join("; ") || "after the others";
}

function nearestText({ foreign, limit, local }: Nearest): string {
  return `the ${limit} rows whose ${foreign} is nearest to ${local}, of those that the online store has`;
}
