/** What identifies features in the stores. */

import { toJsonString } from "@bufbuild/protobuf";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { DataTypeSchema } from "../../../gen/svc/v1/value_pb.ts";
import { featuresOf } from "../../domain/graph-diff.ts";
import type { FeatureKey } from "../stores/metadata/store.ts";

/** The scalar features of a graph with the canonical text of their types: a feature whose type changes gets another identity, so that no stored value of the old type is served. */
export function featureKeys(graph: Graph): FeatureKey[] {
  return featuresOf(graph).flatMap(({ fqn, kind }) =>
    kind.case === "scalar" && kind.value.dtype ? [{ fqn, dtype: toJsonString(DataTypeSchema, kind.value.dtype) }] : [],
  );
}
