/**
 * Versions of the functions that callers run. Numbers are unique in an environment for a name, from
 * 1, and never reused; branches share them. Every method is one atomic step; times are epoch
 * milliseconds.
 */

/** A function of a deployment. */
export interface DeployedFunction {
  readonly name: string;
  /** What two functions have in common that are the same version. */
  readonly fingerprint: string;
  /** The encoded definition. */
  readonly definition: Uint8Array;
}

/** A version. */
export interface FunctionVersionRecord extends DeployedFunction {
  readonly id: string;
  readonly environmentId: string;
  readonly version: number;
  readonly createdAt: number;
}

/** A version as an environment or a branch has it. */
export interface PlacedFunction extends FunctionVersionRecord {
  /** The newest deployment of the environment or branch that has it; empty = none is left. */
  readonly deploymentId: string;
}

/** A selection of versions. */
export interface FunctionFilter {
  readonly environmentId: string;
  /** Those that were deployed to this branch; empty = to the environment itself. */
  readonly branch: string;
  /** Default: all. */
  readonly name?: string | undefined;
  /** Only those that were stored before the version with this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** The versions. */
export interface FunctionStore {
  /**
   * Notes the functions of a deployment. One that was never seen in the environment gets the next
   * number of its name.
   * @param newId makes the id of a version
   */
  place(
    deployment: { readonly id: string; readonly environmentId: string; readonly branch: string },
    functions: readonly DeployedFunction[],
    newId: () => string,
    now: number,
  ): Promise<void>;
  /** The versions that a deployment has, sorted by name. */
  ofDeployment(deploymentId: string): Promise<PlacedFunction[]>;
  /** A version as a branch has it; undefined when it was never deployed there. */
  byId(id: string, environmentId: string, branch: string): Promise<PlacedFunction | undefined>;
  /** The same, by name and number. */
  byVersion(environmentId: string, branch: string, name: string, version: number): Promise<PlacedFunction | undefined>;
  /** Selected versions, newest first. */
  list(filter: FunctionFilter): Promise<PlacedFunction[]>;
}
