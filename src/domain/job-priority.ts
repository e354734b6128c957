/** Priorities that people give to jobs that wait. */

/** The lowest and the highest; jobs begin with 0. */
export const JOB_PRIORITY = { least: -100, most: 100 } as const;
