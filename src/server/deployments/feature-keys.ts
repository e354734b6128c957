/** The keys that identify features in the stores. */

import { toJsonString } from "@bufbuild/protobuf";
import { type Graph, HasManySchema } from "../../../gen/svc/v1/graph_pb.ts";
import { type DataType, DataTypeSchema } from "../../../gen/svc/v1/value_pb.ts";
import { storedName } from "../../domain/feature-version.ts";
import { featuresOf } from "../../domain/graph-diff.ts";
import type { FeatureIdentity, FeatureKey, VersionStore } from "../stores/metadata/versions.ts";

/** The identities of a graph's features by FQN. */
export async function identitiesOf(
  metadata: Pick<VersionStore, "featureIdentities">,
  environmentId: string,
  graph: Graph,
  now: number,
): Promise<ReadonlyMap<string, FeatureIdentity>> {
  const stored = await metadata.featureIdentities(environmentId, featureKeys(graph), now);
  const versioned = featuresOf(graph).filter(({ version }) => version !== 0);
  if (versioned.length === 0) return stored;
  const found = new Map(stored);
  for (const feature of versioned) found.delete(storedName(feature));
  for (const feature of versioned) {
    const identity = stored.get(storedName(feature));
    if (identity) found.set(feature.fqn, identity);
  }
  return found;
}

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
  return featuresOf(graph).flatMap((feature) => {
    const { kind } = feature;
    const fqn = storedName(feature);
    if (kind.case === "scalar" && kind.value.dtype) return [{ fqn, dtype: textOf(kind.value.dtype) }];
    return kind.case === "hasMany" ? [{ fqn, dtype: toJsonString(HasManySchema, kind.value) }] : [];
  });
}
