/**
 * The order of test files and their parallelism: the longest first, so that none of them starts
 * last, and waiting files beside computing ones, so that no core is idle.
 */

import { LONG_FILES } from "./long-files.ts";

/** A queue of files, `width` of which run at once. */
export interface Lane {
  readonly width: number;
  readonly paths: readonly string[];
}

/** Number of mostly waiting files that run at once, on any number of cores. */
const WAITING_WIDTH = 3;
/**
 * Greatest number of computing files at once; more would need more memory than build machines have.
 */
const MOST_COMPUTING = 8;
/** A file counts as waiting when it computes for less than this share of its time. */
const WAITING_SHARE = 0.25;

/** The lanes of files on a machine with `cores` cores. Each file is in one lane. */
export function schedule(paths: readonly string[], cores: number): readonly Lane[] {
  const [waiting, computing] = [paths.filter(isWaiting), paths.filter((path) => !isWaiting(path))];
  return [
    { width: WAITING_WIDTH, paths: longestFirst(waiting) },
    { width: Math.min(MOST_COMPUTING, cores), paths: longestFirst(computing) },
  ];
}

/**
 * The same files in an order drawn from a seed, so that the leftovers of a file meet different
 * files.
 */
export function shuffled(paths: readonly string[], seed: number): readonly string[] {
  const ranked = paths.map((path) => ({ path, rank: Bun.hash(`${seed} ${path}`) }));
  return ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ path }) => path);
}

function isWaiting(path: string): boolean {
  const long = LONG_FILES[path];
  return long !== undefined && long.cpu < WAITING_SHARE * long.wall;
}

function longestFirst(paths: readonly string[]): readonly string[] {
  const wall = (path: string) => LONG_FILES[path]?.wall ?? 0;
  return [...paths].sort((a, b) => wall(b) - wall(a) || (a < b ? -1 : 1));
}
