/** Moves of observations from `offline.db` to `offline.duckdb`, as the two files know of them. */

/** Observations of one version's table that are moved together. */
export interface MovedRange {
  readonly table: string;
  /** The last one in the order of the table; null = all of the table. */
  readonly through: readonly [key: string, observedAt: number, sequence: number] | null;
}

/** How far a file has got. */
export interface HistoryFacts {
  /** Number of the last move; 0 = none yet. */
  readonly moves: number;
  /** The last sequence of rows that were moved. */
  readonly sequence: number;
}

/** One move, which landing then forgets. Without ranges there was nothing to move. */
export interface Move extends HistoryFacts {
  readonly ranges: readonly MovedRange[];
  /** What `ranges` holds was stored until this sequence. */
  readonly until: number;
  /** Rows of the history by environment. */
  readonly environments: readonly (readonly [environmentId: string, rows: number])[];
  /** Whether more waits up to the sequence that was asked for. */
  readonly isMore: boolean;
}
