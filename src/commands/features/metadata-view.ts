/**
 * Metadata of features as JSON, for files and `--json`, with types, durations and joins in the
 * notation of users.
 */

import { type Feature, type FeatureMetadata, type Nearest, VectorMetric } from "../../../gen/svc/v1/graph_pb.ts";
import { messageJson } from "../../contract/message-json.ts";
import { readableName } from "../../domain/name.ts";
import { fromProtoValue } from "../../domain/proto-value.ts";
import { validationsText } from "../../domain/validations.ts";
import { toPlainJson, typeName } from "../../domain/value.ts";
import { sourceException } from "../../output/source-exception.ts";

/** A feature's metadata as JSON, without what the server left out. */
export function featureJson(metadata: FeatureMetadata): Record<string, unknown> {
  const { feature } = metadata;
  if (!feature) return {};
  return {
    fqn: feature.fqn,
    readable_fqn: readableName(feature.fqn),
    ...kindJson(feature),
    ...messageJson(feature, { kind: false, owner: null, description: null, span: sourceException }),
    ...messageJson(metadata, { feature: false }),
  };
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
        ...(kind.value.validations.length > 0 ? { validations: validationsText(kind.value.validations) } : {}),
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
        ...(kind.value.nearest && { nearest: nearestJson(kind.value.nearest) }),
      };
    default:
      return { kind: "unknown" };
  }
}

function nearestJson({ distance, foreign, limit, local, metric }: Nearest): Record<string, unknown> {
  const name = metric === VectorMetric.L2 ? "l2" : metric === VectorMetric.DOT ? "dot" : "cosine";
  return { local, foreign, k: limit, metric: name, ...(distance !== "" && { distance }) };
}
