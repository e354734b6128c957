/**
 * The rows of a class that are known: those of its history, or of the resolver that has all rows.
 */

import type { FeatureValue } from "../../domain/value.ts";
import { JobFailed } from "../jobs/runner.ts";
import type { OnlineEngine } from "../query/create-engine.ts";
import type { NamespaceInfo } from "../query/graph/index-types.ts";
import type { LiveDeployment } from "../query/live-deployment.ts";
import type { OfflineQueryRequest, OfflineRows } from "../stores/metadata/offline-queries.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import { primaryKeyOf } from "../stores/online/store.ts";
import { unitOf } from "./division.ts";

/** Options of `knownKeys`. */
export interface KnownKeysOptions {
  readonly engine: OnlineEngine;
  readonly deployment: LiveDeployment;
  readonly root: NamespaceInfo;
  readonly rows: Extract<OfflineRows, { readonly from: "keys" }>;
  readonly recompute: OfflineQueryRequest["recompute"];
  readonly resourceGroup: OfflineQueryRequest["resourceGroup"];
  /** Epoch milliseconds. */
  readonly present: number;
  readonly offline: OfflineStore;
  readonly signal: AbortSignal;
  /** Most rows. */
  readonly limit: number;
}

/**
 * Keys in an order that depends on nothing else. When everything is recomputed, and there are no
 * bounds, they are those of the resolver that has all rows of the class, if one does.
 */
export async function knownKeys(options: KnownKeysOptions): Promise<readonly FeatureValue[]> {
  const { rows, offline, deployment, root, limit } = options;
  const { lowerBound, upperBound, maxSamples } = rows;
  const wanted = maxSamples === 0 ? limit + 1 : maxSamples;
  const total = options.recompute === "all" && lowerBound === null && upperBound === null ? totalOf(root) : undefined;
  const keys = total === undefined ? undefined : await ownKeys(options, total);
  const bounds = {
    ...(lowerBound !== null && { observedFrom: lowerBound }),
    ...(upperBound !== null && { observedBefore: upperBound }),
  };
  const found = keys
    ? maxSamples === 0
      ? keys
      : chosen(keys, maxSamples)
    : await offline.scanKeys(deployment.environmentId, root.name, bounds, wanted);
  if (found.length > limit) throw new JobFailed(`${root.name} has more than ${limit} rows, the most of one query`);
  return found.map(primaryKeyOf);
}

/** FQN of the resolver that has all rows of a class. */
function totalOf(root: NamespaceInfo): string | undefined {
  return root.primaryKey?.producers.find(({ total, broken }) => total && broken === undefined)?.fqn;
}

async function ownKeys(options: KnownKeysOptions, resolver: string): Promise<readonly string[]> {
  const { engine, deployment, present, resourceGroup, signal } = options;
  return engine
    .runResolver(deployment, { resolver, now: present, resourceGroup, into: { online: false, offline: false }, signal })
    .ownKeys();
}

/** As many keys as wanted, chosen by a hash, in their order. */
function chosen(keys: readonly string[], most: number): readonly string[] {
  const taken = new Set([...keys].sort((a, b) => unitOf(`key\0${a}`) - unitOf(`key\0${b}`)).slice(0, most));
  return keys.filter((key) => taken.has(key));
}
