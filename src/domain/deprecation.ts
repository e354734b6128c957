/** Rule 193: uses of features that are deprecated. */

import type { Diagnostic, Span } from "../../gen/svc/v1/error_pb.ts";
import type { Feature } from "../../gen/svc/v1/graph_pb.ts";
import type { Derivation } from "./derivation.ts";
import { readPaths } from "./expressions/read-paths.ts";
import { finding } from "./finding.ts";
import { readableName } from "./name.ts";
import { DEPRECATED_FEATURE } from "./rules/project.ts";

/** A definition, and the paths of the features that it reads or gives. */
interface User {
  readonly name: string;
  readonly span: Span | undefined;
  readonly paths: readonly string[];
}

/**
 * Findings about definitions that use a deprecated feature, one for each of the two. A deprecated
 * feature's own expression may use what is deprecated.
 */
export function deprecationFindings(derivation: Derivation): Diagnostic[] {
  const deprecated = [...derivation.index.features.values()].some((feature) => feature.deprecated);
  if (!deprecated) return [];
  return usersIn(derivation).flatMap(({ name, span, paths }) => {
    const used = new Map(paths.flatMap((path) => deprecatedOn(derivation, path)).map((feature) => [nameOf(feature), feature]));
    return [...used].map(([feature, { description, span: at }]) =>
      finding(DEPRECATED_FEATURE.used({ user: name, feature, is: deprecationText(description) }), span, {
        related: at ? [{ span: at, message: `${feature} is defined here` }] : [],
      }),
    );
  });
}

/** Characters of a description that a sentence takes. */
const MOST_CHARACTERS = 200;

/**
 * What is said of a deprecated feature: `is deprecated`, with the first line of its description,
 * which says what to use instead.
 */
export function deprecationText(description: string): string {
  const [line = ""] = description.trim().split("\n");
  const told = line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS - 3)}...` : line;
  return told === "" ? "is deprecated" : `is deprecated: ${told}`;
}

/** The deprecated features on a path: relations on its way and the feature at its end. */
function deprecatedOn({ index }: Derivation, path: string): Feature[] {
  const resolved = index.resolvePath(path);
  return resolved.found ? [...resolved.relations, resolved.feature].filter((feature) => feature.deprecated) : [];
}

/** The name of a feature; of a window the windowed feature's. */
function nameOf({ fqn, kind }: Feature): string {
  return readableName((kind.case === "scalar" && kind.value.windowedBase) || fqn);
}

function usersIn(derivation: Derivation): User[] {
  const { graph, index } = derivation;
  const resolvers = graph.resolvers.map((resolver) => ({
    name: resolver.fqn,
    span: resolver.span,
    paths: [...derivation.pathsOf(resolver), ...resolver.outputs],
  }));
  const expressions = graph.featureSets.flatMap((set) =>
    set.features.flatMap((feature): User[] => {
      if (feature.kind.case !== "scalar" || feature.deprecated) return [];
      const { expression, offlineExpression } = feature.kind.value;
      const paths = [expression, offlineExpression].flatMap((one) => (one ? readPaths(one, set, index) : []));
      return paths.length === 0 ? [] : [{ name: nameOf(feature), span: feature.span, paths }];
    }),
  );
  const named = graph.namedQueries.map(({ name, version, span, inputs, outputs }) => ({
    name: `named query '${version === "" ? name : `${name} ${version}`}'`,
    span,
    paths: [...inputs, ...outputs],
  }));
  const scheduled = graph.scheduledQueries.map(({ name, span, outputs }) => ({ name: `scheduled query '${name}'`, span, paths: outputs }));
  return [...expressions, ...resolvers, ...named, ...scheduled];
}
