/**
 * Identities of features and version numbers of resolvers: given once in an environment, and never
 * to another.
 */

/** A feature's identity in the stores: one per FQN and type. */
export interface FeatureIdentity {
  readonly id: number;
  /** Counts the feature's types in this environment, from 1. */
  readonly internalVersion: number;
}

/** A feature whose identity is asked for. */
export interface FeatureKey {
  readonly fqn: string;
  /** Canonical text of its type. */
  readonly dtype: string;
}

/** A resolver whose version is asked for. */
export interface ResolverKey {
  readonly fqn: string;
  readonly sourceSha256: string;
}

/** Identities and versions. */
export interface VersionStore {
  /** Identities of features, new ones for those not seen with their type before. */
  featureIdentities(environmentId: string, features: readonly FeatureKey[], now: number): Promise<Map<string, FeatureIdentity>>;
  /**
   * Version numbers of resolvers: the place of their source among the distinct sources seen for the
   * FQN in the environment. A source that was not seen gets the next number; it is kept only with
   * `record`.
   */
  resolverVersions(
    environmentId: string,
    resolvers: readonly ResolverKey[],
    record?: { readonly deploymentId: string; readonly now: number },
  ): Promise<Map<string, number>>;
}
