/**
 * The difference of two graphs: resolvers, those of streams among them, features, monitors and
 * evaluations that are added, changed or removed, with the changes in words.
 */

import { create, isMessage, toBinary } from "@bufbuild/protobuf";
import {
  ChangeKind,
  type DeploymentDiff,
  DeploymentDiffSchema,
  type FeatureChange,
  FeatureChangeSchema,
  type ResolverChange,
  ResolverChangeSchema,
} from "../../gen/svc/v1/deployment_pb.ts";
import { SpanSchema } from "../../gen/svc/v1/error_pb.ts";
import {
  type ComputeFunction,
  ComputeFunctionSchema,
  type Evaluation,
  EvaluationSchema,
  type Feature,
  FeatureSchema,
  type FeatureSet,
  type Graph,
  type JoinKey,
  type Monitor,
  type Resolver,
  ResolverSchema,
  type SinkResolver,
  SinkResolverSchema,
  type StreamResolver,
  StreamResolverSchema,
} from "../../gen/svc/v1/graph_pb.ts";
import type { Value } from "../../gen/svc/v1/value_pb.ts";
import { signatureText } from "./compute-function.ts";
import { formatDuration } from "./duration.ts";
import { datasetText, inputsText, scorerText } from "./evaluation-text.ts";
import { compareNames } from "./name.ts";
import { durationToMs } from "./proto-time.ts";
import { fromProtoValue } from "./proto-value.ts";
import { equalBytes, sameBut } from "./same-message.ts";
import { validationsText } from "./validations.ts";
import { toPlainJson, typeName } from "./value.ts";

const sameResolvers = sameBut(ResolverSchema, SpanSchema);
const sameStreams = sameBut(StreamResolverSchema, SpanSchema);
const sameFeatures = sameBut(FeatureSchema, SpanSchema);

/** Version numbers of resolvers by FQN; those that both graphs share need none. */
export interface ResolverVersions {
  readonly before: ReadonlyMap<string, number>;
  readonly after: ReadonlyMap<string, number>;
}

/**
 * The difference of two graphs; without a first one everything is added. Lists are sorted by FQN.
 */
export function diffGraphs(before: Graph | undefined, after: Graph, versions: ResolverVersions): DeploymentDiff {
  const resolvers = [before?.resolvers ?? [], after.resolvers] as const;
  const sinks = [before?.sinkResolvers ?? [], after.sinkResolvers] as const;
  const streams = [before?.streamResolvers ?? [], after.streamResolvers] as const;
  const sets = [before?.featureSets ?? [], after.featureSets] as const;
  return create(DeploymentDiffSchema, {
    resolvers: [
      ...diffResolvers(without(...resolvers), without(resolvers[1], resolvers[0]), versions, sameResolver),
      ...diffResolvers(without(...streams), without(streams[1], streams[0]), versions, sameStream),
      ...diffResolvers(without(...sinks), without(sinks[1], sinks[0]), versions, sameSink),
    ].sort(byName),
    features: diffFeatures(featuresIn(without(...sets)), featuresIn(without(sets[1], sets[0]))),
    monitors: diffNamed(before?.monitors ?? [], after.monitors, monitorChanges),
    evaluations: diffNamed(before?.evaluations ?? [], after.evaluations, evaluationChanges),
    functions: diffNamed(before?.computeFunctions ?? [], after.computeFunctions, functionChanges),
  });
}

/**
 * The definitions that are not the very same messages in another graph: what graphs share is equal.
 */
export function without<T>(definitions: readonly T[], others: readonly T[]): readonly T[] {
  const shared = new Set(others);
  return definitions.filter((one) => !shared.has(one));
}

/**
 * Gives the changes of a difference the definitions of the graph `after`, for an answer that left
 * them out.
 */
export function addFeatures({ features }: DeploymentDiff, after: Graph): void {
  const byFqn = new Map(featuresOf(after).map((feature) => [feature.fqn, feature]));
  for (const change of features) {
    const feature = byFqn.get(change.fqn);
    if (feature) change.feature = feature;
  }
}

/** All resolvers of a graph, those of streams and sinks among them. */
export function resolversIn({ resolvers, sinkResolvers, streamResolvers }: Graph): (Resolver | SinkResolver | StreamResolver)[] {
  return [...resolvers, ...streamResolvers, ...sinkResolvers];
}

/** All features of a graph, flat. */
export function featuresOf(graph: Graph | undefined): Feature[] {
  return featuresIn(graph?.featureSets ?? []);
}

function featuresIn(sets: readonly FeatureSet[]): Feature[] {
  return sets.flatMap(({ features }) => features);
}

/**
 * Features with cached values of resolvers that a deployment of `after` changes or replaces: the
 * old values are served until they are as old as `max_staleness`. New features have no values yet
 * and are left out.
 */
export function outlivingFeatures({ resolvers, features }: DeploymentDiff, after: Graph): Feature[] {
  const changed = new Set(resolvers.filter(({ oldVersion, newVersion }) => oldVersion !== newVersion).map(({ fqn }) => fqn));
  const outputs = new Set(after.resolvers.filter(({ fqn }) => changed.has(fqn)).flatMap((resolver) => resolver.outputs));
  const added = new Set(features.filter(({ change }) => change === ChangeKind.ADDED).map(({ fqn }) => fqn));
  return featuresOf(after).filter(
    ({ fqn, maxStaleness }) => outputs.has(fqn) && !added.has(fqn) && maxStaleness !== undefined && durationToMs(maxStaleness) > 0,
  );
}

function diffResolvers<T extends { fqn: string }>(
  before: readonly T[],
  after: readonly T[],
  versions: ResolverVersions,
  same: (old: T, now: T) => boolean,
): ResolverChange[] {
  return [...pair(before, after)].flatMap(([fqn, old, now]) => {
    const oldVersion = old ? (versions.before.get(fqn) ?? 1) : 0;
    const newVersion = now ? (versions.after.get(fqn) ?? oldVersion + 1) : 0;
    const change = kindOf(old, now, () => old !== undefined && now !== undefined && same(old, now));
    return change === undefined ? [] : [create(ResolverChangeSchema, { fqn, change, oldVersion, newVersion })];
  });
}

function sameStream(old: StreamResolver, now: StreamResolver): boolean {
  const bytes = (stream: StreamResolver) => toBinary(StreamResolverSchema, withoutSpans(stream));
  return sameStreams(old, now) || equalBytes(bytes(old), bytes(now));
}

function sameSink(old: SinkResolver, now: SinkResolver): boolean {
  const bytes = (sink: SinkResolver) => toBinary(SinkResolverSchema, withoutSpans(sink));
  return equalBytes(bytes(old), bytes(now));
}

function sameResolver(old: Resolver, now: Resolver): boolean {
  if (old.sourceSha256 !== now.sourceSha256) return false;
  return sameResolvers(old, now) || equalBytes(bareResolver(old), bareResolver(now));
}

/**
 * The encoded content of a resolver, wherever its text is in the file. Left out are the reason why
 * it is not translated, which follows from the source, and what the database adds to a `select *`,
 * which is known only after the database was asked.
 */
function bareResolver(resolver: Resolver): Uint8Array {
  const bare = withoutSpans({ ...resolver, untranslated: "" });
  if (bare.body.case === "sql") {
    const sql = bare.body.value;
    bare.body.value = { ...sql, bodyLine: 0, columns: sql.star ? [] : sql.columns };
    if (sql.star) bare.outputs = [];
  }
  return toBinary(ResolverSchema, bare);
}

/** A copy of a message, or of a part of one, without spans. */
function withoutSpans<T>(part: T): T {
  if (typeof part !== "object" || part === null || part instanceof Uint8Array) return part;
  if (Array.isArray(part)) return part.map(withoutSpans) as T;
  const members = Object.entries(part).filter(([, member]) => !isMessage(member, SpanSchema));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutSpans(member)])) as T;
}

/** Changes of what goes by its name, sorted; `changes` says in words what differs between two. */
function diffNamed<T extends { readonly name: string }>(
  before: readonly T[],
  after: readonly T[],
  changes: (old: T, now: T) => string[],
): { name: string; change: ChangeKind; details: string[] }[] {
  const named = (definitions: readonly T[]) => definitions.map((definition) => ({ fqn: definition.name, definition }));
  return [...pair(named(before), named(after))]
    .flatMap(([name, old, now]) => {
      const details = old && now ? changes(old.definition, now.definition) : [];
      const change = kindOf(old, now, () => details.length === 0);
      return change === undefined ? [] : [{ name, change, details }];
    })
    .sort((one, other) => compareNames(one.name, other.name));
}

function monitorChanges(old: Monitor, now: Monitor): string[] {
  return changesOf(monitorFacts(old), monitorFacts(now));
}

function evaluationChanges(old: Evaluation, now: Evaluation): string[] {
  const details = changesOf(evaluationFacts(old), evaluationFacts(now));
  const bytes = (evaluation: Evaluation) => toBinary(EvaluationSchema, withoutSpans(evaluation));
  return details.length > 0 || equalBytes(bytes(old), bytes(now)) ? details : ["definition"];
}

function functionChanges(old: ComputeFunction, now: ComputeFunction): string[] {
  const details = changesOf(functionFacts(old), functionFacts(now));
  const bytes = (one: ComputeFunction) => toBinary(ComputeFunctionSchema, withoutSpans(one));
  return details.length > 0 || equalBytes(bytes(old), bytes(now)) ? details : ["code"];
}

function functionFacts(one: ComputeFunction): Map<string, string> {
  const { concurrency, owner, tags, timeout, venv } = one;
  const facts = {
    signature: signatureText(one),
    timeout: timeout ? formatDuration(durationToMs(timeout)) : "",
    venv,
    owner,
    tags: tags.join(", "),
  };
  const stated = Object.entries({ ...facts, concurrency: concurrency > 0 ? String(concurrency) : "" }).filter(([, text]) => text !== "");
  return new Map(stated);
}

function evaluationFacts(evaluation: Evaluation): Map<string, string> {
  const { description, inputs, key, owner, scorers, tags, task } = evaluation;
  const facts = {
    dataset: datasetText(evaluation),
    task,
    inputs: inputsText(inputs),
    scorers: scorers.map(scorerText).join(", "),
    key,
    owner,
  };
  const stated = Object.entries({ ...facts, tags: tags.join(", ") }).filter(([, text]) => text !== "");
  if (description) stated.push(["description", JSON.stringify(description)]);
  return new Map(stated);
}

function monitorFacts({ above, below, description, expression, owner, pendingFor, severity, webhooks }: Monitor): Map<string, string> {
  const facts = { query: expression, above, below, severity, owner, notify: webhooks.join(", ") };
  const stated = Object.entries(facts).filter(([, text]) => text !== "");
  if (pendingFor) stated.push(["for_", formatDuration(durationToMs(pendingFor))]);
  if (description) stated.push(["description", JSON.stringify(description)]);
  return new Map(stated);
}

/** What differs between the facts of a definition, in words. */
function changesOf(old: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((name) => {
    const [was, is] = [old.get(name) ?? "none", now.get(name) ?? "none"];
    return was === is ? [] : [`${name} ${was} -> ${is}`];
  });
}

function diffFeatures(before: readonly Feature[], after: readonly Feature[]): FeatureChange[] {
  return [...pair(before, after)]
    .flatMap(([fqn, old, now]) => {
      const details = old && now ? describeChanges(old, now) : [];
      const change = kindOf(old, now, () => details.length === 0);
      if (change === undefined) return [];
      return [create(FeatureChangeSchema, { fqn, change, details, ...(now ? { feature: now } : {}) })];
    })
    .sort(byName);
}

function describeChanges(old: Feature, now: Feature): string[] {
  if (sameFeatures(old, now)) return [];
  if (equalBytes(toBinary(FeatureSchema, withoutSpans(old)), toBinary(FeatureSchema, withoutSpans(now)))) return [];
  const details = changesOf(factsOf(old), factsOf(now));
  return details.length > 0 ? details : ["definition"];
}

function factsOf(feature: Feature): Map<string, string> {
  const facts = new Map<string, string>();
  const { kind } = feature;
  if (kind.case === "scalar") {
    const { dtype, nullable, defaultValue, primary, featureTime, references } = kind.value;
    facts.set("type", nullable ? `${typeName(dtype)} | None` : typeName(dtype));
    if (defaultValue) facts.set("default", valueText(defaultValue));
    if (primary) facts.set("primary key", "yes");
    if (featureTime) facts.set("feature time", "yes");
    if (references) facts.set("references", references);
    if (kind.value.storeOnline === false) facts.set("store_online", "no");
    if (kind.value.storeOffline === false) facts.set("store_offline", "no");
    if (kind.value.cacheNulls === false) facts.set("cache_nulls", kind.value.evictNulls ? "evict_nulls" : "no");
    if (kind.value.cacheDefaults === false) facts.set("cache_defaults", kind.value.evictDefaults ? "evict_defaults" : "no");
    if (kind.value.offlineTtl) facts.set("offline_ttl", formatDuration(durationToMs(kind.value.offlineTtl)));
    if (kind.value.etlOfflineToOnline) facts.set("etl_offline_to_online", "yes");
    if (kind.value.validations.length > 0) facts.set("validations", validationsText(kind.value.validations));
  } else if (kind.case !== undefined) {
    const target = kind.value.foreignNamespace;
    facts.set("type", kind.case === "hasOne" ? `${target}${kind.value.optional ? " | None" : ""}` : `DataFrame[${target}]`);
    facts.set("join", kind.value.join.map(joinText).join(", "));
  }
  facts.set("max_staleness", formatDuration(feature.maxStaleness ? durationToMs(feature.maxStaleness) : 0));
  if (feature.owner) facts.set("owner", feature.owner);
  if (feature.tags.length > 0) facts.set("tags", feature.tags.join(", "));
  if (feature.description) facts.set("description", JSON.stringify(feature.description));
  if (feature.version !== 0) facts.set("version", `${feature.version}${feature.version === feature.defaultVersion ? ", the default" : ""}`);
  if (feature.deprecated) facts.set("deprecated", "yes");
  return facts;
}

function joinText({ local, foreign }: JoinKey): string {
  return `${local} = ${foreign}`;
}

function valueText(value: Value): string {
  return JSON.stringify(toPlainJson(fromProtoValue(value)));
}

function kindOf(old: unknown, now: unknown, same: () => boolean): ChangeKind | undefined {
  if (old === undefined) return ChangeKind.ADDED;
  if (now === undefined) return ChangeKind.REMOVED;
  return same() ? undefined : ChangeKind.CHANGED;
}

function byName(one: { readonly fqn: string }, other: { readonly fqn: string }): number {
  return compareNames(one.fqn, other.fqn);
}

/** The items of two lists by FQN, in no order: only what has changed is worth sorting. */
function* pair<T extends { fqn: string }>(before: readonly T[], after: readonly T[]): Generator<[string, T | undefined, T | undefined]> {
  const olds = new Map(before.map((item) => [item.fqn, item]));
  for (const now of after) {
    yield [now.fqn, olds.get(now.fqn), now];
    olds.delete(now.fqn);
  }
  for (const [fqn, old] of olds) yield [fqn, old, undefined];
}
