/** The bounds of pages of lists. */

/** Items of a page unless the call says how many. */
export const DEFAULT_PAGE = 50;
/** Most items of a page. */
export const MAX_PAGE = 500;
/** Most items that a call can skip; page tokens reach further. */
export const MAX_OFFSET = 10_000;
