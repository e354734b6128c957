/** The relations of a graph, resolved. */

import { create } from "@bufbuild/protobuf";
import { type Feature, type Graph, type JoinKey, type Nearest, VectorMetric } from "../../../../gen/svc/v1/graph_pb.ts";
import { DataTypeSchema, PrimitiveType, VectorPrecision } from "../../../../gen/svc/v1/value_pb.ts";
import { durationToMs } from "../../../domain/proto-time.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { Metric } from "../../vectors/vector-memory.ts";
import { AnswerType } from "./answer-type.ts";
import type { ManyInfo, Member, NamespaceInfo, NearestInfo, PairInfo, RelationInfo, ScalarInfo } from "./index-types.ts";

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
    personal: false,
    primary: false,
    featureTime: false,
    strict: asIs,
    lenient: asIs,
    producers: [],
  };
}

const ROWS_TYPE = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.JSON } });

/** Most rows of a relation to the nearest ones, as the analyzer says too. */
const MOST_NEAREST = 1_000;

const METRICS: Readonly<Record<VectorMetric, Metric | undefined>> = {
  [VectorMetric.UNSPECIFIED]: undefined,
  [VectorMetric.COSINE]: "cosine",
  [VectorMetric.L2]: "l2",
  [VectorMetric.DOT]: "dot",
};

/** The pairs of a join; undefined when a feature is missing. */
function pairsOf(keys: readonly JoinKey[], scalars: ReadonlyMap<string, ScalarInfo>): readonly PairInfo[] | undefined {
  const pairs = keys.flatMap((key) => {
    const local = scalars.get(key.local);
    const foreign = scalars.get(key.foreign);
    return local && foreign ? [{ local, foreign }] : [];
  });
  return pairs.length === keys.length ? pairs : undefined;
}

/** How the nearest rows are found; undefined when a feature of it is missing. */
function nearestInfo(nearest: Nearest, scalars: ReadonlyMap<string, ScalarInfo>): NearestInfo | undefined {
  const [vectors] = pairsOf([nearest as Pick<Nearest, "local" | "foreign"> as JoinKey], scalars) ?? [];
  const [equal, containing] = [pairsOf(nearest.equal, scalars), pairsOf(nearest.containing, scalars)];
  const kind = vectors?.foreign.dtype.kind;
  const vector = kind?.case === "list" ? kind.value.vector : undefined;
  const metric = METRICS[nearest.metric];
  const distance = scalars.get(nearest.distance);
  if (!vectors || !equal || !containing || !vector || !metric || (nearest.distance !== "" && !distance)) return undefined;
  if (vector.size < 1 || nearest.limit < 1 || nearest.limit > MOST_NEAREST) return undefined;
  const form = { size: vector.size, isDouble: vector.precision === VectorPrecision.F64 };
  return { ...vectors, limit: nearest.limit, metric, form, distance, equal, containing, filters: nearest.filters };
}

function manyInfo(
  feature: Feature,
  foreign: NamespaceInfo,
  { join, nearest }: Pick<ManyInfo, "join" | "nearest">,
  id: number | undefined,
): ManyInfo {
  const many = {
    kind: "has_many" as const,
    fqn: feature.fqn,
    name: feature.name,
    namespace: feature.namespace,
    foreign,
    join,
    nearest,
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
      const pairs = pairsOf(join, scalars) ?? [];
      if (foreign && feature.kind.case === "hasMany") {
        const nearest = feature.kind.value.nearest && nearestInfo(feature.kind.value.nearest, scalars);
        members.set(feature.name, manyInfo(feature, foreign, { join: pairs, nearest }, featureIds.get(feature.fqn)));
      }
      if (!foreign || feature.kind.case !== "hasOne" || pairs.length === 0) continue;
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
