/**
 * Identities of features and version numbers of resolvers: unique in an environment, and never
 * reused.
 */

/** A feature's identity in the stores: one per FQN and type. */
export interface FeatureIdentity {
  readonly id: number;
  /** Number of the type among the feature's types in this environment, from 1. */
  readonly internalVersion: number;
}

/** A feature to be identified. */
export interface FeatureKey {
  readonly fqn: string;
  /** Canonical text of its type. */
  readonly dtype: string;
}

/** A resolver whose version is looked up. */
export interface ResolverKey {
  readonly fqn: string;
  readonly sourceSha256: string;
}

/** Identities and versions. */
export interface VersionStore {
  /** Identities by FQN; a feature not seen with its type before gets a new one. */
  featureIdentities(environmentId: string, features: readonly FeatureKey[], now: number): Promise<Map<string, FeatureIdentity>>;
  /** Every feature of an environment that was ever identified, by FQN and type. */
  knownFeatures(environmentId: string): Promise<(FeatureKey & Pick<FeatureIdentity, "id">)[]>;
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
