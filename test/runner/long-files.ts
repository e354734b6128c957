/**
 * Files that take ten seconds or more on a quiet machine of two cores, as `bun test/run.ts --times`
 * prints them: seconds by the clock and of processors. It orders files and is no bound; a figure that is
 * wrong makes a run longer, and nothing else.
 */
export const LONG_FILES: Readonly<Record<string, { readonly wall: number; readonly cpu: number }>> = {};
