/** Errors of searches, with their place. */

/** A search that was not understood. */
export class SearchError extends Error {
  override readonly name = "SearchError";

  /** `start` and `end`: offsets of what is wrong in the search as it was written. */
  constructor(
    message: string,
    readonly start: number,
    readonly end: number,
  ) {
    super(message);
  }

  /** Its column in the search, from 1, in code points. */
  columnIn(search: string): number {
    return [...search.slice(0, this.start)].length + 1;
  }
}
