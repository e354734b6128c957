/** Whether a resolver can serve a query at all: its environment, its tags, and what the query's planner options say. */

import type { ResolverInfo } from "./index-types.ts";
import type { PlanShape } from "./plan.ts";

/**
 * The planner options that there are; others are kept in the log and change nothing.
 * - `required_resolver_tags`: tags with commas between them; only resolvers that have them all are considered.
 */
export const PLANNER_OPTIONS = { requiredTags: "required_resolver_tags" } as const;

/** Why a resolver cannot serve a query whatever its inputs; undefined = it can. */
export function whyUnfit(resolver: ResolverInfo, environment: string, shape: PlanShape): string | undefined {
  if (resolver.broken) return resolver.broken;
  if (resolver.offline) return "it is offline only";
  if (resolver.environments.length > 0 && !resolver.environments.includes(environment))
    return `it exists in the environments ${resolver.environments.join(", ")}, not in ${environment}`;
  const missing = resolver.tags.filter((tag) => !shape.tags.some((given) => given === tag || given.startsWith(`${tag}:`)));
  if (missing.length > 0) return `it needs ${named(missing)}, which the query does not carry`;
  const required = requiredTags(shape).filter((tag) => !resolver.tags.some((own) => own === tag || own.startsWith(`${tag}:`)));
  if (required.length > 0) return `the query requires resolvers with ${named(required)}, which it does not have`;
  return undefined;
}

function requiredTags(shape: PlanShape): string[] {
  const option = shape.plannerOptions[PLANNER_OPTIONS.requiredTags] ?? "";
  return option.split(",").flatMap((tag) => (tag.trim() === "" ? [] : [tag.trim()]));
}

function named(tags: readonly string[]): string {
  return `the tag${tags.length > 1 ? "s" : ""} ${tags.map((tag) => `'${tag}'`).join(" and ")}`;
}
