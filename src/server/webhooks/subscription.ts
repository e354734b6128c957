/**
 * What a webhook is told of: `query.run`, or for features `feature.computed`, of one feature
 * `feature.computed:user.score`, of those with a tag `feature.computed:tag=fraud`.
 */

import { didYouMean } from "../../domain/closest.ts";
import { Failure } from "../failure.ts";

/** The event types that this version sends. */
export const EVENT_TYPES = [
  "query.run",
  "resolver.run",
  "feature.computed",
  "deployment.waiting",
  "deployment.live",
  "deployment.failed",
  "monitor.firing",
  "monitor.resolved",
  "stream.stopped",
] as const;

/** An event type that this version sends. */
export type EventType = (typeof EVENT_TYPES)[number];

/** The features that a webhook is told of. */
export interface FeatureChoice {
  readonly fqns: ReadonlySet<string>;
  readonly tags: ReadonlySet<string>;
  readonly isAll: boolean;
}

const FEATURES = "feature.computed";
const MAX_SUBSCRIPTIONS = 100;
const MAX_LENGTH = 300;

/**
 * Subscriptions as they are kept, each once, and warnings about those that this version never
 * sends. Throws Failure invalid_argument.
 */
export function readSubscriptions(given: readonly string[]): {
  readonly subscriptions: readonly string[];
  readonly warnings: readonly string[];
} {
  const subscriptions = [...new Set(given.map((one) => one.trim()).filter(Boolean))];
  if (subscriptions.length === 0)
    throw new Failure("invalid_argument", "A webhook needs event types.", { hint: `There are ${EVENT_TYPES.join(", ")}.` });
  if (subscriptions.length > MAX_SUBSCRIPTIONS)
    throw new Failure("invalid_argument", `A webhook has at most ${MAX_SUBSCRIPTIONS} event types, and here are ${subscriptions.length}.`);
  const warnings = subscriptions.flatMap((one) => {
    if (one.length > MAX_LENGTH || !/^[\x21-\x7e]+$/.test(one))
      throw new Failure("invalid_argument", `${JSON.stringify(one.slice(0, 50))} is no event type.`, {
        hint: `There are ${EVENT_TYPES.join(", ")}.`,
      });
    const [type = "", ...rest] = one.split(":");
    const narrowed = rest.join(":");
    if (one.includes(":") && type === FEATURES) {
      if (!/^(tag=.+|[^.=]+\..+)$/.test(narrowed))
        throw new Failure("invalid_argument", `'${one}' names neither a feature nor a tag.`, {
          hint: "For example feature.computed:user.score or feature.computed:tag=fraud",
        });
      return [];
    }
    if (EVENT_TYPES.some((known) => known === one)) return [];
    return [[`This server sends no events '${one}'.`, didYouMean(one, EVENT_TYPES)].filter(Boolean).join(" ")];
  });
  return { subscriptions, warnings };
}

/** Whether one of the subscriptions is for an event type. */
export function subscribesTo(subscriptions: readonly string[], type: EventType): boolean {
  return subscriptions.some((one) => one === type || (type === FEATURES && one.startsWith(`${FEATURES}:`)));
}

/** The features that subscriptions are for; undefined when they are for none. */
export function featuresOf(subscriptions: readonly string[]): FeatureChoice | undefined {
  const narrowed = subscriptions.filter((one) => one.startsWith(`${FEATURES}:`)).map((one) => one.slice(FEATURES.length + 1));
  const isAll = subscriptions.includes(FEATURES);
  if (!isAll && narrowed.length === 0) return undefined;
  const tags = narrowed.filter((one) => one.startsWith("tag="));
  return {
    isAll,
    fqns: new Set(narrowed.filter((one) => !one.startsWith("tag="))),
    tags: new Set(tags.map((one) => one.slice("tag=".length))),
  };
}
