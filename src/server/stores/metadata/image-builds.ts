/**
 * Builds of what code runs in: virtual environments, and images of containers. Every method is one
 * atomic step; times are epoch milliseconds.
 */

/** What a build makes. */
export type ImageBuildKind = "venv" | "image";

/** The phase of a build; all but `pending` and `running` are final. */
export type ImageBuildPhase = "pending" | "running" | "succeeded" | "failed" | "error" | "skipped" | "omitted";

/** A build that becomes known. */
export interface NewImageBuild {
  readonly environmentId: string;
  /** Unique in the environment. */
  readonly name: string;
  readonly kind: ImageBuildKind;
  /** Empty = for none. */
  readonly deploymentId: string;
  /** Venv of the project file; empty = the deployment's own requirements. */
  readonly venv: string;
  /** Of the virtual environment; empty = not known, or none. */
  readonly runtime: string;
  /** Images that it makes. */
  readonly imageDestinations: readonly string[];
}

/** A build as it is stored. */
export interface ImageBuildRecord extends NewImageBuild {
  readonly phase: ImageBuildPhase;
  /** Why it failed; empty = it did not. */
  readonly error: string;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
}

/** A selection of builds. */
export interface ImageBuildFilter {
  readonly environmentId: string;
  /** Default: all. */
  readonly phases?: readonly ImageBuildPhase[];
  readonly limit: number;
  readonly offset: number;
}

/** The builds. */
export interface ImageBuildStore {
  /**
   * Notes that a build is pending. One of the name that was cut off or failed begins anew, with an
   * empty log; false, and nothing changes, when what it makes is there.
   */
  begin(build: NewImageBuild): Promise<boolean>;
  /**
   * Changes a build that has not ended; false when it has, or there is none.
   * @param error why, of a build that fails
   */
  move(environmentId: string, name: string, phase: Exclude<ImageBuildPhase, "pending">, error?: string): Promise<boolean>;
  /** Ends the builds of a deployment that have not ended as errors. */
  stop(deploymentId: string, error: string): Promise<void>;
  build(environmentId: string, name: string): Promise<ImageBuildRecord | undefined>;
  /** Selected builds, newest first. */
  list(filter: ImageBuildFilter): Promise<ImageBuildRecord[]>;
  /** Adds lines to a build's log, of which the last `most` are kept. */
  addLines(environmentId: string, name: string, lines: readonly string[], most: number): Promise<void>;
  /** The log of a build. */
  lines(environmentId: string, name: string): Promise<string[]>;
  /** Removes builds that ended longer ago than this, at most `limit`; returns their number. */
  purge(olderThanMs: number, limit: number): Promise<number>;
}
