/** Features for tests of the offline store. */

import { create } from "@bufbuild/protobuf";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import type { FeatureVersion } from "../../../../src/server/stores/offline/store.ts";

/** A type by the name of its primitive. */
export function dtypeOf(name: keyof typeof PrimitiveType): DataType {
  return create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType[name] } });
}

/** The first version of a feature of `user`, of integers unless another type is given. */
export function featureVersion(featureId: number, more: Partial<FeatureVersion> = {}): FeatureVersion {
  const base = { environmentId: "env_1", namespace: "user", name: `f${featureId}`, internalVersion: 1, dtype: dtypeOf("INT64") };
  return { featureId, ...base, ...more };
}
