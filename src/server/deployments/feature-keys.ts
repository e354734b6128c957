/** The keys that identify features in the stores. */

import { toJsonString } from "@bufbuild/protobuf";
import { type Graph, HasManySchema } from "../../../gen/svc/v1/graph_pb.ts";
import { type DataType, DataTypeSchema } from "../../../gen/svc/v1/value_pb.ts";
import { featuresOf } from "../../domain/graph-diff.ts";
import type { FeatureKey } from "../stores/metadata/versions.ts";

/**
 * The keys of a graph's scalar features and has-many relations, with the canonical text of their
 * type: a feature whose type changes gets another identity, so that no stored value of the old type
 * is served. The same holds for a has-many relation whose join changes.
 */
export function featureKeys(graph: Graph): FeatureKey[] {
  const primitives = new Map<unknown, string>();
  const textOf = (dtype: DataType): string => {
    if (dtype.kind.case !== "primitive") return toJsonString(DataTypeSchema, dtype);
    const text = primitives.get(dtype.kind.value) ?? toJsonString(DataTypeSchema, dtype);
    primitives.set(dtype.kind.value, text);
    return text;
  };
  return featuresOf(graph).flatMap(({ fqn, kind }) => {
    if (kind.case === "scalar" && kind.value.dtype) return [{ fqn, dtype: textOf(kind.value.dtype) }];
    return kind.case === "hasMany" ? [{ fqn, dtype: toJsonString(HasManySchema, kind.value) }] : [];
  });
}
