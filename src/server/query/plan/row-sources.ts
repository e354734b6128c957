/** Choice of the sources of a class that decide whether the row of a has-one relation exists. */

import type { NamespaceInfo, ResolverInfo, ScalarInfo } from "../graph/index-types.ts";
import { gives } from "./calls.ts";
import type { CallNode, FrameNode } from "./goal-nodes.ts";
import type { GoalGraph } from "./goals.ts";

/**
 * The calls that look a frame's row up by its join and so decide whether it exists: it does when
 * one of them finds it. A source with all rows (`total`) decides alone; else those that provide a
 * feature which every row must have; else, unless a resolver computes features from the key alone,
 * all of them. Empty = no source decides: then every key counts as a row.
 */
export function rowSources(graph: GoalGraph, frame: FrameNode): readonly CallNode[] {
  const { namespace, relation } = frame;
  if (frame.mode !== "join" || !relation) return [];
  const joined = relation.join.map((pair) => pair.foreign);
  const makers = [...new Set(namespace.scalars.flatMap((feature) => feature.producers))].filter((maker) => !graph.unfit(maker));
  const found = makers.flatMap((resolver) => lookup(graph, frame, resolver, joined) ?? []).sort(bySpeed);
  const total = found.find((call) => call.resolver?.total);
  if (total) return [total];
  const sure = found.filter((call) => givesRequired(call.resolver as ResolverInfo, namespace, joined));
  if (sure.length > 0) return sure;
  return makers.some((maker) => !maker.sql && !found.some((call) => call.resolver === maker)) ? [] : found;
}

/** Sort order of calls: SQL queries before Python resolvers of rows, then by name. */
function bySpeed(a: CallNode, b: CallNode): number {
  const [first, second] = [a.resolver as ResolverInfo, b.resolver as ResolverInfo];
  if (Boolean(first.sql) !== Boolean(second.sql)) return first.sql ? -1 : 1;
  return first.fqn < second.fqn ? -1 : 1;
}

/**
 * The call of a resolver whose rows are found by the join alone and have its far side or the
 * primary key.
 */
function lookup(graph: GoalGraph, frame: FrameNode, resolver: ResolverInfo, joined: readonly ScalarInfo[]): CallNode | undefined {
  const { primaryKey } = frame.namespace;
  if (!resolver.sql && resolver.shape !== "rows") return undefined;
  if (!joined.every((feature) => gives(resolver, feature)) && !(primaryKey && gives(resolver, primaryKey))) return undefined;
  const taken = resolver.inputs.filter((input) => !input.now);
  if (taken.length > 0) {
    if (!resolver.sql || !taken.every((input) => isOwn(input.relations, input.feature, joined))) return undefined;
    if (!joined.every((feature) => taken.some((input) => input.feature === feature))) return undefined;
  }
  const call = graph.call(frame, resolver);
  if (typeof call === "string" || !call.inputs.every((input) => !input.goal || frame.gates.includes(input.goal))) return undefined;
  return call;
}

function isOwn(relations: readonly unknown[], feature: ScalarInfo | undefined, joined: readonly ScalarInfo[]): boolean {
  return relations.length === 0 && feature !== undefined && joined.includes(feature);
}

/** Whether a resolver provides a feature that every row must have. */
function givesRequired(resolver: ResolverInfo, { scalars }: NamespaceInfo, joined: readonly ScalarInfo[]): boolean {
  return scalars.some(
    (feature) =>
      !feature.nullable && feature.defaultValue === undefined && !feature.primary && !joined.includes(feature) && gives(resolver, feature),
  );
}
