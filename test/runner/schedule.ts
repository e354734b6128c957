/**
 * Which test files run at the same time, and in which order: the longest first, so that none of
 * them is the last to begin, and files that wait beside those that compute, so that no core is
 * idle.
 */

import { LONG_FILES } from "./long-files.ts";

/** Files that run one after the other in each of `width` places. */
export interface Lane {
  readonly width: number;
  readonly paths: readonly string[];
}

/** Files that mostly wait run this many at once, whatever the number of cores. */
const WAITING_WIDTH = 3;
/** More would need more memory than build machines have. */
const MOST_COMPUTING = 8;
/** A file waits when it computes for less than this part of its time. */
const WAITING_SHARE = 0.25;

/** Lanes for files, on a machine with so many cores. A file is in one lane. */
export function schedule(paths: readonly string[], cores: number): readonly Lane[] {
  const [waiting, computing] = [paths.filter(isWaiting), paths.filter((path) => !isWaiting(path))];
  return [
    { width: WAITING_WIDTH, paths: longestFirst(waiting) },
    { width: Math.min(MOST_COMPUTING, cores), paths: longestFirst(computing) },
  ];
}

/**
 * The same files in an order that a seed gives: what one file leaves behind meets other files then.
 */
export function shuffled(paths: readonly string[], seed: number): readonly string[] {
  const placed = paths.map((path) => ({ path, place: Bun.hash(`${seed} ${path}`) }));
  return placed.sort((a, b) => (a.place < b.place ? -1 : 1)).map(({ path }) => path);
}

function isWaiting(path: string): boolean {
  const long = LONG_FILES[path];
  return long !== undefined && long.cpu < WAITING_SHARE * long.wall;
}

function longestFirst(paths: readonly string[]): readonly string[] {
  const wall = (path: string) => LONG_FILES[path]?.wall ?? 0;
  return [...paths].sort((a, b) => wall(b) - wall(a) || (a < b ? -1 : 1));
}
