/**
 * Lines about what is being done for deployments, so that whoever follows one on another node than
 * its builder's sees them.
 */

/** A line. */
export interface ProgressLine {
  /** Grows with every line of the store. */
  readonly seq: number;
  readonly deploymentId: string;
  /** Node that wrote it. */
  readonly node: string;
  readonly text: string;
}

/** The most lines of one deployment that are kept: the oldest go first. */
export const MOST_PROGRESS_LINES = 200;

/** The lines. */
export interface ProgressStore {
  /** Keeps a line. */
  add(line: Omit<ProgressLine, "seq">): Promise<void>;
  /** The lines of a deployment behind one, oldest first. */
  since(deploymentId: string, seq: number): Promise<ProgressLine[]>;
  /** The newest line of each of these deployments that has one. */
  last(deploymentIds: readonly string[]): Promise<ProgressLine[]>;
  /** Removes the lines of deployments whose state is older than this; gives their number. */
  purge(olderThanMs: number): Promise<number>;
}
