/**
 * Identities of features and version numbers of resolvers: unique in an environment, and never
 * reused.
 */

import type { DeletionRecord } from "./deletions.ts";

/** A feature's identity in the stores: one per FQN and type, until its version is ended. */
export interface FeatureIdentity {
  readonly id: number;
  /** Number of the identity among the feature's in this environment, from 1. */
  readonly internalVersion: number;
}

/** A feature to be identified. */
export interface FeatureKey {
  readonly fqn: string;
  /** Canonical text of its type. */
  readonly dtype: string;
}

/** A version of a feature that an environment has or had. */
export interface KnownVersion extends FeatureKey, FeatureIdentity {
  /** Whether it was ended: nothing of it is served or stored any more. */
  readonly isEnded: boolean;
}

/** A resolver whose version is looked up. */
export interface ResolverKey {
  readonly fqn: string;
  readonly sourceSha256: string;
}

/** Features whose versions are ended. */
export interface VersionsToEnd {
  readonly environmentId: string;
  /** Features and relations, with the type of their next version. */
  readonly features: readonly FeatureKey[];
  /** Whether everything that is stored of any of their versions is removed. */
  readonly isDropped: boolean;
}

/** Identities and versions. */
export interface VersionStore {
  /**
   * Identities by FQN; a feature not seen with its type before, or whose version of that type was
   * ended, gets a new one.
   */
  featureIdentities(environmentId: string, features: readonly FeatureKey[], now: number): Promise<Map<string, FeatureIdentity>>;
  /** Every version of a feature that an environment has or had, in the order of their ids. */
  knownFeatures(environmentId: string): Promise<KnownVersion[]>;
  /**
   * Ends the versions of features that are in use, begins the next one of each, and stores the
   * deletion that has every node act on it, all in one step. Features that were never identified
   * are left out.
   * @param deletion the deletion, without what is ended
   * @returns the deletion; `full` when all deletions would then have more than `mostKeys` keys and
   * versions, and nothing was changed
   */
  endVersions(what: VersionsToEnd, deletion: DeletionRecord, mostKeys: number): Promise<DeletionRecord | "full">;
  /** The environments of all features, by the features' ids. */
  featureOwners(): Promise<ReadonlyMap<number, string>>;
  /**
   * Version numbers of resolvers: the position, from 1, of their source among the distinct sources
   * seen for the FQN in the environment. A new source gets the next number, which is stored only
   * with `record`.
   */
  resolverVersions(
    environmentId: string,
    resolvers: readonly ResolverKey[],
    record?: { readonly deploymentId: string; readonly now: number },
  ): Promise<Map<string, number>>;
}
