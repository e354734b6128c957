/**
 * Traffic: how the queries of an environment are shared among deployments by their tags. A tag with
 * a weight above 0 gets queries, one with weight 0 none though its workers run, and one with weight
 * null none. These are the rules of the weights, and the choice of a query's deployment.
 */

import { Failure } from "../failure.ts";

/** The traffic of one tag. */
export interface TagTraffic {
  readonly tag: string;
  readonly deploymentId: string;
  /** Percent, 0 to 100; null = suspended. */
  readonly weight: number | null;
  /** Percent of the queries that are copied to it, 0 to 100. */
  readonly mirrorWeight: number;
}

/** The tags of an environment that were given weights, by name. */
export type TrafficTags = readonly TagTraffic[];

/** The tags of a blue/green deployment. */
export const COLORS = ["blue", "green"] as const;

/** Whether queries are shared by weights, so that the live pointer does not answer them. */
export function isShared(tags: TrafficTags): boolean {
  return tags.some(({ weight }) => weight !== null && weight > 0);
}

/** Whether the workers of a tag's deployment are to run. */
export function isWarm({ weight, mirrorWeight }: TagTraffic): boolean {
  return weight !== null || mirrorWeight > 0;
}

/** The deployment with the most weight, of equal ones the first; undefined when none has any. */
export function leadingDeployment(tags: TrafficTags): string | undefined {
  return isShared(tags) ? tags.reduce((most, one) => (order(one) > order(most) ? one : most)).deploymentId : undefined;
}

/** The tags with one added or replaced, by name. */
export function withTag(tags: TrafficTags, changed: TagTraffic): TrafficTags {
  return [...tags.filter(({ tag }) => tag !== changed.tag), changed].sort((a, b) => (a.tag < b.tag ? -1 : 1));
}

/** The weights in words, for example `blue=90, green=10`. */
export function weightsText(tags: TrafficTags): string {
  return tags.map(({ tag, weight }) => `${tag}=${weight}`).join(", ");
}

/**
 * The tags after the one of the lowest weight was given 100, and the other one 0. Throws Failure
 * failed_precondition unless there are two, of different weights.
 */
export function promotedTags(tags: TrafficTags): TrafficTags {
  const [first, second] = tags;
  if (!first || !second || tags.length > 2)
    throw new Failure(
      "failed_precondition",
      `Promoting swaps two tags with weights, and this environment has ${tags.length === 0 ? "none" : `${tags.length}: ${weightsText(tags)}`}.`,
      { hint: "Set weights with `svc traffic set --tags=<tag>=<weight>,...`." },
    );
  const lower = lowerOf(first, second);
  return tags.map((one) => ({ ...one, weight: one.tag === lower.tag ? 100 : 0 }));
}

/**
 * The tag of a blue/green deployment that gets no traffic, or less: `blue` when neither was given a
 * weight. Throws Failure failed_precondition when both have the same, or other tags have weights.
 */
export function inactiveColor(tags: TrafficTags): string {
  const other = tags.find(({ tag }) => !COLORS.some((color) => color === tag));
  if (other)
    throw new Failure(
      "failed_precondition",
      `Queries of this environment are shared among other tags than blue and green: ${weightsText(tags)}.`,
      { hint: `Deploy to one of them with \`svc apply --tag=${other.tag}\`.` },
    );
  const [first, second] = tags;
  if (!first) return COLORS[0];
  if (!second) return first.tag === COLORS[0] ? COLORS[1] : COLORS[0];
  return lowerOf(first, second).tag;
}

function lowerOf(first: TagTraffic, second: TagTraffic): TagTraffic {
  if (order(first) === order(second))
    throw new Failure(
      "failed_precondition",
      `Both tags have the same weight (${weightsText([first, second])}), so neither is the lower one.`,
      {
        hint: `Say which is to answer: svc traffic set --tags=${first.tag}=100,${second.tag}=0`,
      },
    );
  return order(first) < order(second) ? first : second;
}

/** A number that grows with the weight; null is the lowest. */
function order({ weight }: TagTraffic): number {
  return weight ?? -1;
}

/** The choice of deployments for an environment's queries. */
export interface TrafficRoute {
  /** Deployments with the upper ends of their shares, which grow to 1; empty = the live one. */
  readonly shares: readonly { readonly deploymentId: string; readonly upTo: number }[];
  /** Deployments that queries are copied to, with their shares of the queries. */
  readonly mirrors: readonly { readonly deploymentId: string; readonly share: number }[];
}

/**
 * The route of an environment; undefined when the live deployment answers and nothing is copied.
 */
export function routeOf(tags: TrafficTags): TrafficRoute | undefined {
  const total = tags.reduce((sum, { weight }) => sum + (weight ?? 0), 0);
  let reached = 0;
  const shares = tags.flatMap(({ deploymentId, weight }) => {
    if (!weight) return [];
    reached += weight;
    return [{ deploymentId, upTo: reached / total }];
  });
  const mirrors = tags.flatMap(({ deploymentId, mirrorWeight }) => (mirrorWeight > 0 ? [{ deploymentId, share: mirrorWeight / 100 }] : []));
  return shares.length + mirrors.length === 0 ? undefined : { shares, mirrors };
}

/** The deployment for a query at a place from 0 to 1; undefined = the live one. */
export function deploymentAt({ shares }: TrafficRoute, place: number): string | undefined {
  return shares.find(({ upTo }) => place < upTo)?.deploymentId;
}

/** The part of a circle after which a next point is as far as it can be from all before it. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * Places of queries from 0 to 1: that of a correlation id is always the same, and those of queries
 * without one are spread so evenly that every share is met within a few queries, however regular
 * the queries are.
 */
export function createPlaces(start = Math.random()): (correlationId: string) => number {
  let next = start;
  return (correlationId) => {
    if (correlationId !== "") return Bun.hash.xxHash32(correlationId) / 2 ** 32;
    next = (next + GOLDEN) % 1;
    return next;
  };
}
