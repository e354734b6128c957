/**
 * The order of test files and their parallelism: the longest first, so that none of them starts
 * last, and waiting files beside computing ones, so that no core is idle.
 */

import { LONG_FILES } from "./long-files.ts";
import { TOGETHER } from "./together.ts";

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
/** Computing files at once beyond one for each core, as each of them waits for some of its time. */
const MORE_THAN_CORES = 1;
/** Most files of one process: the cores have work until the end, and a failure little else to read. */
const MOST_TOGETHER = 16;
/** Seconds that a file takes which `LONG_FILES` does not have. */
const SHORT_SECONDS = 2;
/** A file counts as waiting when it computes for less than this share of its time. */
const WAITING_SHARE = 0.25;

/** The lanes of files on a machine with `cores` cores. Each file is in one lane. */
export function schedule(paths: readonly string[], cores: number): readonly Lane[] {
  const [waiting, computing] = [paths.filter(isWaiting), paths.filter((path) => !isWaiting(path))];
  return [
    { width: WAITING_WIDTH, paths: longestFirst(waiting) },
    { width: Math.min(MOST_COMPUTING, cores + MORE_THAN_CORES), paths: longestFirst(computing) },
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

/**
 * The same files, those together that one process runs: short ones of a folder of `TOGETHER`. The
 * processes that take longest come first.
 */
export function processes(paths: readonly string[]): readonly (readonly string[])[] {
  const all: string[][] = [];
  for (const path of paths) {
    const last = all.at(-1);
    const folder = folderOf(path);
    if (last && folder !== undefined && folderOf(last[0] ?? "") === folder && last.length < MOST_TOGETHER) last.push(path);
    else all.push([path]);
  }
  return all.sort((a, b) => secondsOf(b) - secondsOf(a));
}

function secondsOf(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + (LONG_FILES[path]?.wall ?? SHORT_SECONDS), 0);
}

/** The folder whose files run together with this one; undefined for a file that has a process of its own. */
function folderOf(path: string): string | undefined {
  return path in LONG_FILES ? undefined : TOGETHER.find((folder) => path.startsWith(`${folder}/`));
}

function isWaiting(path: string): boolean {
  const long = LONG_FILES[path];
  return long !== undefined && long.cpu < WAITING_SHARE * long.wall;
}

function longestFirst(paths: readonly string[]): readonly string[] {
  const wall = (path: string) => LONG_FILES[path]?.wall ?? 0;
  return [...paths].sort((a, b) => wall(b) - wall(a) || (a < b ? -1 : 1));
}
