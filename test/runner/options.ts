/** The command line of `bun test/run.ts`. */

import { parseArgs } from "node:util";

/** Options of a run of the tests. */
export interface RunOptions {
  /** Parts of paths; a file runs when its path has one of them. None = every file. */
  readonly words: readonly string[];
  /**
   * Leave out the files of `SLOW_BY_NATURE`, and of Python's versions those between the oldest and
   * the newest.
   */
  readonly isQuick: boolean;
  /** Only test files: no build, and none of the checks of sources. */
  readonly isWithoutChecks: boolean;
  /** Run files in an order drawn from the seed instead of the longest first. */
  readonly isShuffled: boolean;
  /** Run what failed once more at the end. */
  readonly isRepeating: boolean;
  /** File to write the paths to of test files that passed whole: none of their tests was skipped. */
  readonly wholeTo?: string;
  /** File with paths of test files that are left out, a line each: what `wholeTo` wrote before. */
  readonly exceptIn?: string;
  /** Number of the slowest files listed at the end. */
  readonly times: number;
  /** Seed of random cases; absent = that of the gating run. */
  readonly seed?: number;
  /** Cases of each property; absent = those of the gating run. */
  readonly runs?: number;
}

const LISTED_TIMES = 20;
const MOST_SEEDS = 2 ** 31;

/**
 * Options parsed from a command line. Throws an error for users when one is unknown or no number.
 */
export function parseOptions(argv: readonly string[]): RunOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      "no-checks": { type: "boolean", default: false },
      shuffle: { type: "boolean", default: false },
      again: { type: "boolean", default: false },
      whole: { type: "string" },
      except: { type: "string" },
      times: { type: "boolean", default: false },
      seed: { type: "string" },
      runs: { type: "string" },
    },
  });
  return {
    words: positionals,
    isQuick: values.quick,
    isWithoutChecks: values["no-checks"],
    isShuffled: values.shuffle,
    isRepeating: values.again,
    wholeTo: values.whole,
    exceptIn: values.except,
    times: values.times ? LISTED_TIMES : 0,
    seed: values.seed === undefined ? undefined : seedOf(values.seed),
    runs: values.runs === undefined ? undefined : wholeNumber("--runs", values.runs),
  };
}

/** A seed, drawn here when it is `random`, so that every file of a run has the same one. */
function seedOf(text: string): number {
  return text === "random" ? Math.floor(Math.random() * MOST_SEEDS) : wholeNumber("--seed", text);
}

function wholeNumber(flag: string, text: string): number {
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text))) throw new Error(`${flag}=${text} is no whole number`);
  return Number(text);
}

/**
 * Environment variables for test files: with the seed and the number of cases, for
 * `test/harness/seed.ts`, and whether the run is quick, for `test/sdk/interpreters.ts`.
 */
export function variablesOf({ seed, runs, isQuick }: RunOptions): Record<string, string> {
  return {
    ...(isQuick ? { SVC_TEST_QUICK: "1" } : {}),
    ...(seed === undefined ? {} : { SVC_TEST_SEED: String(seed) }),
    ...(runs === undefined ? {} : { SVC_TEST_RUNS: String(runs) }),
  };
}

/** Flags that repeat this run's random cases; empty for the cases of the gating run. */
export function repeatedBy({ seed, runs }: RunOptions): string {
  return [...(seed === undefined ? [] : [`--seed=${seed}`]), ...(runs === undefined ? [] : [`--runs=${runs}`])].join(" ");
}
