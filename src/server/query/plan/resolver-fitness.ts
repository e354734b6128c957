/**
 * Whether a resolver can serve a query at all: its environment, its tags, and what the query's
 * planner options say.
 */

import { isInEnvironment } from "../../../domain/in-environment.ts";
import type { ResolverInfo } from "../graph/index-types.ts";
import type { PlanShape } from "./plan.ts";

/** The reason why a resolver cannot serve a query whatever its inputs; undefined = it can. */
export function whyUnfit(resolver: ResolverInfo, environment: string, shape: PlanShape): string | undefined {
  if (resolver.broken) return resolver.broken;
  if (resolver.offline && !shape.history && shape.forcedResolver !== resolver.fqn) return "it is offline only";
  if (!isInEnvironment(resolver.environments, environment))
    return `it exists in the environments ${resolver.environments.join(", ")}, not in ${environment}`;
  const missing = resolver.tags.filter((tag) => !shape.tags.some((given) => given === tag || given.startsWith(`${tag}:`)));
  if (missing.length > 0) return `it needs ${named(missing)}, which the query does not carry`;
  const required = shape.options.requiredResolverTags.filter(
    (tag) => !resolver.tags.some((own) => own === tag || own.startsWith(`${tag}:`)),
  );
  if (required.length > 0) return `the query requires resolvers with ${named(required)}, which it does not have`;
  return undefined;
}

function named(tags: readonly string[]): string {
  return `the tag${tags.length > 1 ? "s" : ""} ${tags.map((tag) => `'${tag}'`).join(" and ")}`;
}
