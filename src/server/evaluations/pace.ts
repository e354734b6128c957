/** How many rows a process is given at once, and how many make a part, by what they take. */

/** Rows that a process has at once, at most. */
export const MOST_ROWS = 100;
/** Rows of a part at most. */
export const PART_ROWS = 1_000;
/** What a batch should take. */
const BATCH_MS = 1_000;
/** The shortest time after which rows are kept although they are less than a part. */
const LEAST_PART_MS = 5_000;
/**
 * Share of the time of an attempt that a part may take: parts of slow rows grow longer, so that a
 * run of a day has some hundred.
 */
const PART_SHARE = 1 / 20;

/** The pace of an attempt; times are milliseconds of one clock. */
export interface Pace {
  /** Rows of the next batch, where `kept` are done that belong to the same part. */
  batchRows(kept: number): number;
  /** Notes what a batch has taken. */
  took(rows: number, ms: number): void;
  /** Whether rows that are done since a time are kept now. */
  isDue(rows: number, since: number, now: number): boolean;
}

/** The pace of an attempt that begins now. `leastRows` are computed at once in any case. */
export function paceOf(leastRows: number, begun: number): Pace {
  let rows = leastRows;
  return {
    batchRows: (kept) => Math.min(rows, PART_ROWS - kept),
    took(done, ms) {
      const fitting = Math.floor((done * BATCH_MS) / Math.max(ms, 1));
      rows = Math.max(leastRows, Math.min(MOST_ROWS, fitting));
    },
    isDue: (done, since, now) => done >= PART_ROWS || now - since >= Math.max(LEAST_PART_MS, (now - begun) * PART_SHARE),
  };
}
