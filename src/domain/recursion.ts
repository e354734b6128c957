/**
 * Recursion over rows: the steps of a graph that lead to themselves through relations, so that
 * computing them could go from row to row without end.
 */

import { findComponents } from "./components.ts";
import type { Derivation, Need, Step } from "./derivation.ts";

/** The steps of a graph that could need themselves of other rows. */
export interface Recursion {
  readonly steps: ReadonlySet<Step>;
  /** FQNs of the features that they give. */
  readonly features: ReadonlySet<string>;
  /** FQNs of the relations that the cycles go through. */
  readonly relations: ReadonlySet<string>;
}

const NONE: Recursion = { steps: new Set(), features: new Set(), relations: new Set() };

/**
 * Every step in a cycle of steps that goes through a relation, whatever else provides the same
 * features.
 */
export function findRecursion({ steps, providers, index }: Derivation): Recursion {
  const needsOf = (step: Step): readonly Need[] => [...step.needs, ...step.optionalNeeds];
  const isForeign = ({ foreign }: Need): boolean => foreign;
  if (!steps.some(({ needs, optionalNeeds }) => needs.some(isForeign) || optionalNeeds.some(isForeign))) return NONE;
  const next = (step: Step): Step[] => needsOf(step).flatMap((need) => providers.get(need.feature) ?? []);
  const components = findComponents(steps, (step) => [...new Set(next(step))]);
  const relations = new Set<string>();
  const recursive = new Set<Step>();
  for (const component of new Set(components.values())) {
    const within = [...component].flatMap((step) =>
      needsOf(step).filter((need) => need.foreign && (providers.get(need.feature) ?? []).some((provider) => component.has(provider))),
    );
    if (within.length === 0) continue;
    for (const step of component) recursive.add(step);
    for (const { path } of within) {
      const resolved = index.resolvePath(path);
      if (resolved.found) for (const relation of [...resolved.relations, resolved.feature]) relations.add(relation.fqn);
    }
  }
  return { steps: recursive, features: new Set([...recursive].flatMap((step) => step.outputs)), relations };
}
