/** The input of linking SQL files. */

/** A file with its text. Paths are relative to the project root. */
export interface SqlFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The completeness of a graph: whether what is not in it does not exist. The analyzer's graph is
 * complete unless its findings say otherwise; a graph made from Python text alone may be incomplete
 * in parts.
 */
export interface Completeness {
  /** Whether a class that is not in the graph does not exist. */
  readonly allClasses: boolean;
  /** Whether the features of a class in the graph are all that it has. */
  allFeatures(namespace: string): boolean;
}
