/**
 * Storage policy: which values of queries are stored offline, and how long online values are kept.
 */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { storedName } from "../../domain/feature-version.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { encodeStored, type FeatureValue } from "../../domain/value.ts";
import type { FeatureVersion } from "../stores/offline/store.ts";

/** The properties of a deployment on which the policy depends. */
export interface WrittenDeployment {
  readonly id: string;
  readonly environmentId: string;
  /** Empty = the environment's own. */
  readonly branch: string;
  readonly graph: Graph;
  /** Id and internal version of every scalar feature, by FQN. */
  readonly identities: ReadonlyMap<string, { readonly id: number; readonly internalVersion: number }>;
}

/**
 * The versions of the features whose values are stored offline, by feature id: all scalar features
 * without `store_offline=False`. Empty for a branch, whose values would mix with the environment's.
 */
export function offlineVersions(deployment: WrittenDeployment): ReadonlyMap<number, FeatureVersion> {
  const versions = new Map<number, FeatureVersion>();
  if (deployment.branch !== "") return versions;
  for (const { namespace, features } of deployment.graph.featureSets)
    for (const feature of features) {
      const { fqn, kind } = feature;
      const identity = deployment.identities.get(fqn);
      if (kind.case !== "scalar" || !kind.value.dtype || !identity || kind.value.storeOffline === false) continue;
      versions.set(identity.id, {
        featureId: identity.id,
        environmentId: deployment.environmentId,
        namespace,
        name: storedName(feature).slice(namespace.length + 1),
        internalVersion: identity.internalVersion,
        dtype: kind.value.dtype,
      });
    }
  return versions;
}

/** What a fresh value is to the online store: stored, not stored, or the end of the older one. */
export type Caching = "store" | "keep" | "evict";

/** The options of a feature on which that depends. */
export interface CachedFeature {
  readonly caching: { readonly nulls: Caching; readonly defaults: Caching };
  /** Undefined = it has none. */
  readonly defaultValue: FeatureValue | undefined;
}

/**
 * What the online store does with a fresh value.
 * @param standsIn whether the feature's default stands in for it, which is null
 */
export function cachingOf({ caching: { nulls, defaults }, defaultValue }: CachedFeature, value: FeatureValue, standsIn = false): Caching {
  if (value === null && nulls !== "store") return nulls;
  if (defaults === "store" || defaultValue === undefined) return "store";
  return standsIn || encodeStored(value) === encodeStored(defaultValue) ? defaults : "store";
}

/**
 * Least time for which an online value is kept, in milliseconds: a week. A query may allow a longer
 * staleness than the definition, or read as of an earlier time; a staleness above a week must be in
 * a definition, a named query, or the query that stored the value.
 */
const LEAST_KEPT_MS = 7 * 86_400_000;

/**
 * The expiry of an online value, epoch milliseconds: the time from which on no plan can serve it.
 * Absent for a value of any age.
 * @param longestMs longest staleness with which it is read, in milliseconds; Infinity = any age
 */
export function expiryOf(observedAt: number, longestMs: number): { readonly expiresAt?: number } {
  return longestMs === Number.POSITIVE_INFINITY ? {} : { expiresAt: observedAt + Math.max(longestMs, LEAST_KEPT_MS) };
}

/**
 * The longest staleness that a graph's definitions and named queries allow, in milliseconds, by
 * feature id.
 */
export function longestStaleness(graph: Graph, identities: ReadonlyMap<string, { readonly id: number }>): ReadonlyMap<number, number> {
  const longest = new Map<number, number>();
  const note = (fqn: string, ms: number): void => {
    const id = identities.get(fqn)?.id;
    if (id !== undefined) longest.set(id, Math.max(ms, longest.get(id) ?? 0));
  };
  for (const { features } of graph.featureSets)
    for (const { fqn, maxStaleness } of features) note(fqn, maxStaleness ? durationToMs(maxStaleness) : 0);
  for (const { staleness } of graph.namedQueries)
    for (const [fqn, duration] of Object.entries(staleness)) note(fqn, durationToMs(duration));
  return longest;
}
