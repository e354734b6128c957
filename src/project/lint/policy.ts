/**
 * Rule 192: metadata that the project asks of features and resolvers (`validation:` in svc.yaml).
 */

import type { Diagnostic, Span } from "../../../gen/svc/v1/error_pb.ts";
import type { Graph, Resolver } from "../../../gen/svc/v1/graph_pb.ts";
import { finding } from "../../domain/finding.ts";
import { MISSING_METADATA } from "../../domain/rules/project.ts";
import type { MetadataPolicy } from "../project.ts";

type Field = NonNullable<MetadataPolicy["feature"]>[number]["name"];

interface Described {
  readonly fqn: string;
  readonly owner: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly span?: Span | undefined;
}

const FEATURE_CURE: Readonly<Record<Field, string>> = {
  owner: "write '# :owner: name@example.com' above it, or owner= at the class",
  description: "write a comment above it",
  tags: "write '# :tags: a, b' above it, or tags= at the class",
};
const PYTHON_CURE: Readonly<Record<Field, string>> = {
  owner: "write owner= in its decorator",
  description: "write a docstring",
  tags: "write tags= in its decorator",
};
const SQL_CURE: Readonly<Record<Field, string>> = {
  owner: "write '-- owner: name@example.com' in its header",
  description: "write a comment in its header",
  tags: "write '-- tags: [a, b]' in its header",
};

/** Findings about the metadata of a graph's features and resolvers. */
export function policyFindings(graph: Graph, policy: MetadataPolicy): Diagnostic[] {
  const features = policy.feature ? graph.featureSets.flatMap((set) => set.features) : [];
  return [
    ...features.flatMap((feature) => missing("feature", feature, policy.feature, FEATURE_CURE)),
    ...(policy.resolver ? graph.resolvers : []).flatMap((resolver: Resolver) =>
      missing("resolver", resolver, policy.resolver, isSqlFile(resolver) ? SQL_CURE : PYTHON_CURE),
    ),
  ];
}

function isSqlFile({ body }: Resolver): boolean {
  return body.case === "sql" && !body.value.python;
}

function missing(kind: string, item: Described, rules: MetadataPolicy["feature"], cure: Readonly<Record<Field, string>>): Diagnostic[] {
  return (rules ?? []).flatMap(({ name, missing: severity }) => {
    if (item[name].length > 0) return [];
    const what = name === "tags" ? "has no tags" : `has no ${name}`;
    const label = name === "tags" ? "no tags" : `needs ${name === "owner" ? "an" : "a"} ${name}`;
    const problem = MISSING_METADATA.missing({ fqn: item.fqn, what, kind, cure: cure[name], label });
    return [finding({ ...problem, severity: severity === "warn" ? "warning" : "error" }, item.span)];
  });
}
