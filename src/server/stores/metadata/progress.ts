/** Progress lines of deployments, stored so that a deployment can be followed on any node. */

/** A progress line. */
export interface ProgressLine {
  /** Grows with every line of the store. */
  readonly seq: number;
  readonly deploymentId: string;
  /** Node that wrote it. */
  readonly node: string;
  readonly text: string;
}

/** Number of lines kept for one deployment; the oldest are removed first. */
export const MOST_PROGRESS_LINES = 200;

/** The lines. */
export interface ProgressStore {
  /** Stores a line. */
  add(line: Omit<ProgressLine, "seq">): Promise<void>;
  /** The lines of a deployment after line `seq`, oldest first. */
  since(deploymentId: string, seq: number): Promise<ProgressLine[]>;
  /** The newest line of each of these deployments that has one. */
  last(deploymentIds: readonly string[]): Promise<ProgressLine[]>;
  /**
   * Removes the lines of deployments whose last change is older than this; returns their number.
   */
  purge(olderThanMs: number): Promise<number>;
}
