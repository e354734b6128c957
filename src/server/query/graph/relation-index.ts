/** The relations of a graph, resolved. */

import { create } from "@bufbuild/protobuf";
import type { Feature, Graph } from "../../../../gen/svc/v1/graph_pb.ts";
import { DataTypeSchema, PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { durationToMs } from "../../../domain/proto-time.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import { AnswerType } from "./answer-type.ts";
import type { ManyInfo, Member, NamespaceInfo, RelationInfo, ScalarInfo } from "./index-types.ts";

/** The pseudo-feature of a relation's rows. */
export function rowsInfo(many: { readonly namespace: string }, name: string): ScalarInfo {
  const asIs = (value: unknown) => value as FeatureValue;
  return {
    kind: "scalar",
    fqn: `${many.namespace}.${name}`,
    name,
    namespace: many.namespace,
    dtype: ROWS_TYPE,
    answerType: new AnswerType(ROWS_TYPE),
    typeName: "rows",
    nullable: false,
    defaultValue: undefined,
    stalenessMs: 0,
    featureId: undefined,
    stream: undefined,
    storesOnline: true,
    caching: { nulls: "store", defaults: "store" },
    storesOffline: false,
    followsOffline: false,
    version: 1,
    isOldVersion: false,
    primary: false,
    featureTime: false,
    strict: asIs,
    lenient: asIs,
    producers: [],
  };
}

const ROWS_TYPE = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.JSON } });

function manyInfo(feature: Feature, foreign: NamespaceInfo, join: ManyInfo["join"], id: number | undefined): ManyInfo {
  const many = {
    kind: "has_many" as const,
    fqn: feature.fqn,
    name: feature.name,
    namespace: feature.namespace,
    foreign,
    join,
    rows: rowsInfo(feature, feature.name),
    given: rowsInfo(feature, `${feature.name}=`),
    fillers: [],
  };
  Object.assign(many.rows, { rowsOf: many, featureId: id, stalenessMs: feature.maxStaleness ? durationToMs(feature.maxStaleness) : 0 });
  return many;
}

/**
 * Adds the relations to their classes; returns the has-one relations by FQN. Dangling ones are left
 * out.
 */
export function linkRelations(
  graph: Graph,
  namespaces: ReadonlyMap<string, NamespaceInfo>,
  scalars: ReadonlyMap<string, ScalarInfo>,
  featureIds: ReadonlyMap<string, number>,
): Map<string, RelationInfo> {
  const relations = new Map<string, RelationInfo>();
  for (const set of graph.featureSets) {
    const members = namespaces.get(set.namespace)?.members as Map<string, Member>;
    for (const feature of set.features) {
      if (feature.kind.case !== "hasOne" && feature.kind.case !== "hasMany") continue;
      const { foreignNamespace, join } = feature.kind.value;
      const foreign = namespaces.get(foreignNamespace);
      const pairs = join.flatMap((key) => {
        const local = scalars.get(key.local);
        const other = scalars.get(key.foreign);
        return local && other ? [{ local, foreign: other }] : [];
      });
      if (foreign && feature.kind.case === "hasMany")
        members.set(feature.name, manyInfo(feature, foreign, pairs.length === join.length ? pairs : [], featureIds.get(feature.fqn)));
      if (!foreign || feature.kind.case !== "hasOne" || pairs.length === 0 || pairs.length !== join.length) continue;
      const { optional } = feature.kind.value;
      const relation: RelationInfo = {
        kind: "has_one",
        fqn: feature.fqn,
        name: feature.name,
        namespace: feature.namespace,
        foreign,
        optional,
        join: pairs,
        onPrimaryKey: pairs.some((pair) => pair.foreign === foreign.primaryKey),
      };
      relations.set(relation.fqn, relation);
      members.set(relation.name, relation);
    }
  }
  return relations;
}
