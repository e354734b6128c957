/**
 * Rules about the graph as a whole, once the SQL files are linked.
 *
 * A query may give any feature as an input, through relations too, so a feature that nothing
 * computes is no mistake in itself. The rules:
 * - 160 error: a named query that names its inputs asks for a feature that cannot be computed from
 *   them (nor from the primary keys of its root class). Warning: a resolver reads a feature through
 *   a relation that nothing computes: only queries that give it can run the resolver.
 * - 161 error: features that are computed only from each other, in a cycle, and no named query
 *   gives one. Where the cycle goes through relations, from row to row, defaults and optional
 *   inputs do not end it.
 * - 162 error: two online resolvers give the same feature, both can always run, and no environment,
 *   tag, condition or `total` tells them apart.
 * - 163 warning: a feature that nothing computes and nothing uses.
 * - 164 warning: a feature that only offline resolvers compute is needed by an online resolver or a
 *   named query.
 * - 166 error: a function of the project checks values of a feature that an expression or a SQL
 *   file computes.
 * - 165 warning: a resolver has a schedule, and cannot run by itself.
 * - 173, 174, 175 errors: monitors, by `monitor-rules.ts`.
 * - 193 warning: a deprecated feature is used, by `deprecation.ts`.
 * - 170 error: a named query has an unknown planner option, or a bad value of one: no query by that
 *   name could be planned.
 */

import type { Diagnostic, Span } from "../../gen/svc/v1/error_pb.ts";
import { type Feature, type Graph, type NamedQuery, OutputShape, type Resolver } from "../../gen/svc/v1/graph_pb.ts";
import { didYouMean } from "./closest.ts";
import { deprecationFindings } from "./deprecation.ts";
import { Derivation, hasDefault, type Need, type Step } from "./derivation.ts";
import { readPaths } from "./expressions/read-paths.ts";
import { finding, mergeFindings } from "./finding.ts";
import { monitorFindings } from "./monitor-rules.ts";
import { readableName } from "./name.ts";
import { readPlannerOptions } from "./planner-options.ts";
import { findRecursion } from "./recursion.ts";
import {
  AMBIGUOUS_RESOLVERS,
  BAD_NAMED_QUERY,
  BAD_SCHEDULE,
  CYCLE,
  NEVER_SCHEDULED,
  NOT_COMPUTABLE,
  OFFLINE_ONLY,
  UNCHECKED_VALUES,
  UNUSED_FEATURE,
} from "./rules/graph.ts";

/** Findings about a linked graph; none while parts of the project could not be read. */
export function checkGraph(graph: Graph): Diagnostic[] {
  const derivation = new Derivation(graph);
  if (derivation.index.isPartial) return [];
  const cycles = findCycles(derivation);
  return mergeFindings([
    ...cycles.diagnostics,
    ...namedQueryFindings(derivation, cycles.features),
    ...foreignNeedFindings(derivation),
    ...ambiguityFindings(derivation),
    ...orphanFindings(derivation),
    ...offlineOnlyFindings(derivation),
    ...uncheckedFindings(derivation),
    ...scheduleFindings(derivation),
    ...scheduledQueryFindings(derivation),
    ...plannerOptionFindings(derivation),
    ...monitorFindings(graph),
    ...deprecationFindings(derivation),
  ]);
}

/** Rule 161: features that are computed only from each other. */
function findCycles(derivation: Derivation): { diagnostics: Diagnostic[]; features: Set<string> } {
  const given = [...derivation.index.features.values()]
    .filter((feature) => !derivation.providers.has(feature.fqn))
    .map((feature) => feature.fqn);
  const queryInputs = derivation.graph.namedQueries.flatMap((query) => query.inputs.flatMap((path) => givenBy(derivation, path)));
  const recursion = findRecursion(derivation);
  const derived = derivation.closure([...given, ...queryInputs], { endless: recursion });
  const stuck = new Map<string, { next: string[]; via: Step }>();
  for (const [fqn, steps] of derivation.providers) {
    if (derived.has(fqn)) continue;
    const next = steps.flatMap((step) => {
      const needs = recursion.steps.has(step) ? [...step.needs, ...step.optionalNeeds] : step.needs;
      return needs.map((need) => need.feature).filter((need) => !derived.has(need));
    });
    const via = steps[0] as Step;
    if (next.length > 0) stuck.set(fqn, { next, via });
  }
  const diagnostics: Diagnostic[] = [];
  const onCycle = new Set<string>();
  const settled = new Set<string>();
  for (const start of stuck.keys()) {
    const trail: string[] = [];
    let at: string | undefined = start;
    while (at !== undefined && !settled.has(at) && !trail.includes(at)) {
      trail.push(at);
      at = stuck.get(at)?.next[0];
    }
    for (const fqn of trail) settled.add(fqn);
    const from = at === undefined ? -1 : trail.indexOf(at);
    if (from < 0) continue;
    const cycle = trail.slice(from);
    for (const fqn of cycle) onCycle.add(fqn);
    const shown = [...cycle, ...cycle.slice(0, 1)].map(readableName).join(" -> ");
    const steps = cycle.map((fqn) => stuck.get(fqn)?.via).filter((step) => step !== undefined);
    const related = [...new Set(steps)]
      .slice(1)
      .flatMap((step) => (step.span ? [{ span: step.span, message: `${step.name} is part of it` }] : []));
    diagnostics.push(
      finding(CYCLE.circle({ cycle: shown }), steps[0]?.span, {
        related,
        hint: cycle.some((fqn) => recursion.features.has(fqn))
          ? "A query follows relations so often as its features say, never until there is no more row: write each level as a feature of its own, or have the database follow them with a recursive query."
          : "Give one of them a default, or a resolver that needs none of the others.",
      }),
    );
  }
  return { diagnostics, features: onCycle };
}

/** Rule 160 about named queries that name their inputs. */
function namedQueryFindings(derivation: Derivation, onCycle: ReadonlySet<string>): Diagnostic[] {
  return derivation.graph.namedQueries.flatMap((query) => {
    if (query.inputs.length === 0) return [];
    const derived = derivation.closure(query.inputs.flatMap((path) => givenBy(derivation, path)));
    return query.outputs.flatMap((output) => {
      const chain = missingChain(derivation, derived, output);
      if (!chain || chain.some((fqn) => onCycle.has(fqn))) return [];
      const missing = chain.at(-1) as string;
      const named = readableName(missing);
      const needs = chain.length > 1 ? `: ${chain.map(readableName).join(" needs ")}` : "";
      const [provider] = derivation.providers.get(missing) ?? [];
      const reason = provider && `its ${provider.resolver ? "resolver cannot run" : "expression cannot be computed"}`;
      const cause = reason ?? `no resolver or default computes ${named}`;
      const problem = NOT_COMPUTABLE.query({
        query: queryName(query),
        output: readableName(output),
        chain: needs,
        cause,
        missing: named,
      });
      return [
        finding(problem, query.span, {
          related: relatedFeature(derivation, missing),
          hint: `Add a resolver or a default for ${named}, or take it into the query's inputs.`,
        }),
      ];
    });
  });
}

/**
 * The missing features from a path that cannot be computed to the first cause; undefined when it
 * can be computed.
 */
function missingChain(derivation: Derivation, derived: ReadonlySet<string>, path: string): string[] | undefined {
  const chain: string[] = [];
  let needs: readonly Need[] = derivation.needsOf(path);
  for (;;) {
    const missing = needs.find((need) => !derived.has(need.feature));
    if (!missing || chain.includes(missing.feature)) return chain.length > 0 ? chain : undefined;
    chain.push(missing.feature);
    needs = (derivation.providers.get(missing.feature) ?? []).flatMap((step) => step.needs);
  }
}

/** Rule 160 as a warning: a feature read through a relation that nothing computes. */
function foreignNeedFindings(derivation: Derivation): Diagnostic[] {
  const queryInputs = new Set(derivation.graph.namedQueries.flatMap((query) => query.inputs.map((path) => endOf(derivation, path))));
  return derivation.steps.flatMap((step) =>
    step.needs.flatMap((need) => {
      const feature = derivation.index.features.get(need.feature);
      if (
        !need.foreign ||
        !feature ||
        derivation.hasProvider(feature) ||
        derivation.isPrimary(need.feature) ||
        queryInputs.has(need.feature)
      )
        return [];
      const needed = readableName(need.feature);
      return [
        finding(NOT_COMPUTABLE.throughRelation({ needed, reader: step.name, path: readableName(need.path) }), step.span, {
          related: relatedFeature(derivation, need.feature),
          hint: `Write a resolver or a default for ${needed}.`,
        }),
      ];
    }),
  );
}

/** Rule 162: two online resolvers give the same feature. */
function ambiguityFindings(derivation: Derivation): Diagnostic[] {
  const reported = new Set<string>();
  return [...derivation.providers].flatMap(([fqn, steps]) => {
    const online = steps.filter((step) => step.isOnline);
    if (online.length < 2 || online.some((step) => !step.resolver)) return [];
    const derived = derivation.closure([], { without: fqn, onlineOnly: true });
    const runnable = online.filter((step) => step.needs.every((need) => derived.has(need.feature)));
    for (const [position, first] of runnable.entries())
      for (const second of runnable.slice(position + 1)) {
        const pair = `${first.name} ${second.name}`;
        if (areSeparate(first.resolver, second.resolver) || reported.has(pair)) continue;
        if (derivation.isPrimary(fqn) && [first, second].every(isPartialScan)) continue;
        reported.add(pair);
        const both = first.outputs
          .filter((output) => second.outputs.includes(output))
          .map(readableName)
          .join(", ");
        const why = isTotal(first.resolver) ? "each says that it has all rows" : "nothing says which of them a query should use";
        return [
          finding(AMBIGUOUS_RESOLVERS.both({ first: first.name, second: second.name, features: both, why }), second.span, {
            related: first.span ? [{ span: first.span, message: "the other resolver" }] : [],
            hint: `Give one of them a tag, an environment or a condition (\`when\`), ${totalAdvice(first, second)}or remove one.`,
          }),
        ];
      }
    return [];
  });
}

/**
 * Whether a step gives rows of a class and does not claim that there are no others: every such step
 * gives the rows' keys.
 */
function isPartialScan({ resolver }: Step): boolean {
  return resolver?.outputShape === OutputShape.ROWS && !resolver.total;
}

/**
 * Advice about `total` for two resolvers; only those that give rows, and SQL files, may have it.
 */
function totalAdvice(first: Step, second: Step): string {
  if (isTotal(first.resolver)) return "take `total` from one that has not all rows, ";
  const isScan = ({ resolver }: Step) => resolver?.outputShape === OutputShape.ROWS || resolver?.body.case === "sql";
  return isScan(first) || isScan(second) ? "mark the one that has all rows with `total`, " : "";
}

function isTotal(resolver: Resolver | undefined): boolean {
  return resolver !== undefined && (resolver.total || (resolver.body.case === "sql" && resolver.body.value.total));
}

function areSeparate(first: Resolver | undefined, second: Resolver | undefined): boolean {
  if (!first || !second || first.relation !== second.relation || first.when || second.when) return true;
  if (isTotal(first) !== isTotal(second)) return true;
  const inCommon = first.environments.some((environment) => second.environments.includes(environment));
  if (first.environments.length > 0 && second.environments.length > 0 && !inCommon) return true;
  const [left, right] = [new Set(first.tags), new Set(second.tags)];
  return left.size !== right.size || [...left].some((tag) => !right.has(tag));
}

/** Rule 163: features that nothing computes and nothing uses. */
function orphanFindings(derivation: Derivation): Diagnostic[] {
  const used = new Set<string>();
  const use = (path: string): void => {
    for (const need of derivation.needsOf(path)) used.add(need.feature);
    const resolved = derivation.index.resolvePath(path);
    if (resolved.found) used.add(resolved.feature.fqn);
  };
  for (const resolver of derivation.graph.resolvers) for (const path of derivation.pathsOf(resolver)) use(path);
  for (const step of derivation.steps) if (!step.resolver) for (const need of step.needs) used.add(need.feature);
  for (const query of derivation.graph.namedQueries) for (const path of [...query.inputs, ...query.outputs]) use(path);
  for (const feature of derivation.index.features.values()) {
    if (feature.kind.case !== "hasOne" && feature.kind.case !== "hasMany") continue;
    for (const key of feature.kind.value.join) {
      used.add(key.local);
      used.add(key.foreign);
    }
    const nearest = feature.kind.case === "hasMany" ? feature.kind.value.nearest : undefined;
    if (!nearest) continue;
    for (const key of [nearest, ...nearest.equal, ...nearest.containing]) {
      used.add(key.local);
      used.add(key.foreign);
    }
    used.add(nearest.distance);
    const set = derivation.index.sets.get(feature.kind.value.foreignNamespace);
    for (const filter of nearest.filters) for (const path of set ? readPaths(filter, set, derivation.index) : []) use(path);
  }
  return [...derivation.index.features.values()].flatMap((feature) => {
    const scalar = feature.kind.case === "scalar" ? feature.kind.value : undefined;
    if (!scalar || scalar.primary || scalar.featureTime || used.has(feature.fqn) || derivation.hasProvider(feature)) return [];
    return [
      finding(UNUSED_FEATURE.unused({ feature: readableName(feature.fqn) }), feature.span, {
        hint: "Write a resolver or an expression for it, or take it out.",
      }),
    ];
  });
}

/** Rule 166: values that functions check and that workers never see. */
function uncheckedFindings({ graph, index }: Derivation): Diagnostic[] {
  const checks = new Map<string, string>();
  for (const { fqn, kind } of index.features.values()) {
    const check = kind.case === "scalar" ? kind.value.validations.find((one) => one.check !== "")?.check : undefined;
    if (check !== undefined) checks.set(fqn, check);
  }
  if (checks.size === 0) return [];
  const found = (fqn: string, provider: string, span: Span | undefined): Diagnostic[] => {
    const check = checks.get(fqn);
    return check === undefined ? [] : [finding(UNCHECKED_VALUES.computed({ feature: readableName(fqn), check, provider }), span)];
  };
  const expressions = [...checks.keys()].flatMap((fqn) => {
    const feature = index.features.get(fqn);
    const isComputed = feature?.kind.case === "scalar" && feature.kind.value.expression !== undefined;
    return isComputed ? found(fqn, "its expression", feature.span) : [];
  });
  const resolvers = [...graph.resolvers, ...graph.streamResolvers]
    .filter(({ body }) => body.case !== "python")
    .flatMap(({ fqn: name, outputs, span }) => outputs.flatMap((fqn) => found(fqn, `resolver '${name}'`, span)));
  return [...expressions, ...resolvers];
}

/** Rule 164: features that only offline resolvers compute. */
function offlineOnlyFindings(derivation: Derivation): Diagnostic[] {
  const isOfflineOnly = (fqn: string): boolean => {
    const feature = derivation.index.features.get(fqn);
    const steps = derivation.providers.get(fqn) ?? [];
    if (!feature || steps.length === 0 || hasDefault(feature) || derivation.mayComeFromStar(feature)) return false;
    return steps.every((step) => !step.isOnline);
  };
  const warn = (fqn: string, consumer: string, span: Span | undefined): Diagnostic => {
    const provider = derivation.providers.get(fqn)?.[0];
    const needed = readableName(fqn);
    return finding(OFFLINE_ONLY.needed({ consumer, feature: needed, resolver: provider?.name ?? "" }), span, {
      hint: `Write an online resolver or a default for ${needed}.`,
      related: provider?.span ? [{ span: provider.span, message: "offline resolver" }] : [],
    });
  };
  const resolvers = derivation.steps
    .filter((step) => step.isOnline)
    .flatMap((step) =>
      unique(step.needs)
        .filter(isOfflineOnly)
        .map((fqn) => warn(fqn, step.name, step.span)),
    );
  const queries = derivation.graph.namedQueries.flatMap((query) => {
    const given = new Set(query.inputs.map((path) => endOf(derivation, path)));
    const needs = query.outputs.flatMap((path) => derivation.needsOf(path)).filter((need) => !given.has(need.feature));
    return unique(needs)
      .filter(isOfflineOnly)
      .map((fqn) => warn(fqn, `named query '${queryName(query)}'`, query.span));
  });
  return [...resolvers, ...queries];
}

/** Rule 165: schedules. */
function scheduleFindings({ graph }: Derivation): Diagnostic[] {
  return graph.resolvers.flatMap(({ fqn, schedule, span, outputShape, relation }) => {
    if (schedule === "" || outputShape !== OutputShape.RELATION) return [];
    const hint = "Queries compute its rows when they are asked for; take `cron` out.";
    return [finding(NEVER_SCHEDULED.schedule({ resolver: fqn, schedule, relation }), span, { hint })];
  });
}

/** Rule 172 about the resolvers that scheduled queries name. */
function scheduledQueryFindings({ graph }: Derivation): Diagnostic[] {
  const names = graph.resolvers.map(({ fqn }) => fqn);
  const isOne = (name: string): boolean => names.some((fqn) => fqn === name || fqn.endsWith(`.${name}`));
  return graph.scheduledQueries.flatMap(({ name: query, incrementalResolvers, span }) =>
    incrementalResolvers
      .filter((resolver) => !isOne(resolver))
      .map((resolver) => {
        const near = didYouMean(resolver, names);
        return finding(BAD_SCHEDULE.noSuchResolver({ query, resolver, near: near && `; ${near}` }), span);
      }),
  );
}

/** Rule 170 about planner options. */
function plannerOptionFindings({ graph }: Derivation): Diagnostic[] {
  return graph.namedQueries.flatMap((query) =>
    readPlannerOptions(query.plannerOptions).problems.map((problem) =>
      finding(BAD_NAMED_QUERY.plannerOption({ query: queryName(query), problem }), query.span, {
        hint: "`svc query --help` lists the planner options.",
      }),
    ),
  );
}

function unique(needs: readonly Need[]): string[] {
  return [...new Set(needs.map((need) => need.feature))];
}

/**
 * The features that a query need not compute when it is given a path: the one at its end, and the
 * keys on the way to it.
 */
function givenBy(derivation: Derivation, path: string): string[] {
  return [endOf(derivation, path), ...derivation.needsOf(path).map((need) => need.feature)];
}

/** FQN of the feature that a path ends at; the path itself when it leads nowhere. */
function endOf(derivation: Derivation, path: string): string {
  const resolved = derivation.index.resolvePath(path);
  return resolved.found ? resolved.feature.fqn : path;
}

function queryName(query: NamedQuery): string {
  return query.version ? `${query.name} ${query.version}` : query.name;
}

function relatedFeature(derivation: Derivation, fqn: string): { span: Span; message: string }[] {
  const feature: Feature | undefined = derivation.index.features.get(fqn);
  return feature?.span ? [{ span: feature.span, message: `${readableName(fqn)} is defined here` }] : [];
}
