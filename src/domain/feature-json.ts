/** Feature and resolver metadata as JSON, for files and `--json`: snake_case keys, types and durations as users write them. */

import type { Feature, FeatureMetadata, Resolver } from "../../gen/svc/v1/graph_pb.ts";
import { ResolverKind } from "../../gen/svc/v1/graph_pb.ts";
import { formatDuration } from "./duration.ts";
import { readableName } from "./name.ts";
import { durationToMs } from "./proto-time.ts";
import { fromProtoValue } from "./proto-value.ts";
import { toPlainJson, typeName } from "./value.ts";

/** A feature's metadata. */
export function featureJson({ feature, resolvers, internalVersion }: FeatureMetadata): Record<string, unknown> {
  if (!feature) return {};
  return {
    fqn: feature.fqn,
    readable_fqn: readableName(feature.fqn),
    name: feature.name,
    namespace: feature.namespace,
    ...kindJson(feature),
    owner: feature.owner || null,
    tags: feature.tags,
    description: feature.description || null,
    max_staleness: feature.maxStaleness ? formatDuration(durationToMs(feature.maxStaleness)) : null,
    deprecated: feature.deprecated,
    internal_version: internalVersion,
    resolvers,
    source: feature.span ? { file: feature.span.file, line: feature.span.line, column: feature.span.column } : null,
  };
}

/** A resolver's metadata. */
export function resolverJson(resolver: Resolver): Record<string, unknown> {
  return {
    fqn: resolver.fqn,
    kind: resolverKind(resolver),
    language: resolver.body.case ?? null,
    inputs: resolver.inputs.flatMap(inputPaths),
    outputs: resolver.outputs,
    tags: resolver.tags,
    environments: resolver.environments,
    owner: resolver.owner || null,
    description: resolver.description || null,
    timeout: resolver.timeout ? formatDuration(durationToMs(resolver.timeout)) : null,
    schedule: resolver.schedule || null,
    source: resolver.span ? { file: resolver.span.file, line: resolver.span.line, column: resolver.span.column } : null,
  };
}

/** `online` or `offline`. */
export function resolverKind(resolver: Resolver): "online" | "offline" {
  return resolver.kind === ResolverKind.OFFLINE ? "offline" : "online";
}

/** What a resolver's parameter is given, as paths from its root class: a feature, the columns of a relation's rows or the relation itself, the columns of a table, or `now`. */
export function inputPaths({ kind }: Resolver["inputs"][number]): string[] {
  switch (kind.case) {
    case "feature":
      return [kind.value.path];
    case "rows": {
      const { path, columns } = kind.value;
      return columns.length === 0 ? [path] : columns.map((column) => `${path}.${column.slice(column.indexOf(".") + 1)}`);
    }
    case "table":
      return kind.value.columns;
    default:
      return ["now"];
  }
}

function kindJson(feature: Feature): Record<string, unknown> {
  const { kind } = feature;
  switch (kind.case) {
    case "scalar":
      return {
        kind: "scalar",
        type: typeName(kind.value.dtype),
        nullable: kind.value.nullable,
        primary: kind.value.primary,
        feature_time: kind.value.featureTime,
        default: kind.value.defaultValue ? toPlainJson(fromProtoValue(kind.value.defaultValue), kind.value.dtype) : null,
      };
    case "hasOne":
      return {
        kind: "has_one",
        type: kind.value.foreignNamespace,
        nullable: kind.value.optional,
        join: kind.value.join.map(({ local, foreign }) => ({ local, foreign })),
      };
    case "hasMany":
      return {
        kind: "has_many",
        type: kind.value.foreignNamespace,
        join: kind.value.join.map(({ local, foreign }) => ({ local, foreign })),
      };
    default:
      return { kind: "unknown" };
  }
}
