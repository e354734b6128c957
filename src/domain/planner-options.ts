/**
 * Planner options of queries and named queries. `PLANNER_OPTIONS` is the one table of them: flags'
 * help, errors and the planner read it.
 */

import { didYouMean } from "./closest.ts";

/** The values of all options, for the planner and the executor. */
export interface PlannerOptions {
  /** Only resolvers that have all of these tags are considered. */
  readonly requiredResolverTags: readonly string[];
  /** Nothing is read from the online store. */
  readonly disableCacheReads: boolean;
  /** Nothing is written to the online store. */
  readonly disableCacheWrites: boolean;
  /** Python runs also where a resolver was translated to an expression. */
  readonly disableTranslation: boolean;
  /** Filters are not pushed down to databases. */
  readonly disablePushdown: boolean;
  /** Rows of one call of a Python resolver, at most. */
  readonly maxBatchRows: number;
}

/** Most rows of one call of a Python resolver. */
export const MAX_BATCH_ROWS = 1_000;

/** The options of a query that sets none. */
export const DEFAULT_PLANNER_OPTIONS: PlannerOptions = {
  requiredResolverTags: [],
  disableCacheReads: false,
  disableCacheWrites: false,
  disableTranslation: false,
  disablePushdown: false,
  maxBatchRows: MAX_BATCH_ROWS,
};

/** One option. */
export interface PlannerOption {
  /** The notation of its values: `true|false`. */
  readonly values: string;
  /** Its effect: lower case, no final dot. */
  readonly meaning: string;
  /**
   * The options with a value read into them; undefined when the text is no value of this option.
   */
  readonly read: (text: string) => Partial<PlannerOptions> | undefined;
}

/** Every option by name. */
export const PLANNER_OPTIONS = {
  required_resolver_tags: {
    values: "tag,tag",
    meaning: "consider only resolvers that have all of these tags",
    read: (text) => ({ requiredResolverTags: text.split(",").flatMap((tag) => tag.trim() || []) }),
  },
  disable_cache_reads: {
    values: "true|false",
    meaning: "read nothing from the online store",
    read: (text) => flag(text, (disableCacheReads) => ({ disableCacheReads })),
  },
  disable_cache_writes: {
    values: "true|false",
    meaning: "write nothing to the online store",
    read: (text) => flag(text, (disableCacheWrites) => ({ disableCacheWrites })),
  },
  disable_translation: {
    values: "true|false",
    meaning: "run Python for resolvers that were translated, too",
    read: (text) => flag(text, (disableTranslation) => ({ disableTranslation })),
  },
  disable_pushdown: {
    values: "true|false",
    meaning: "do not have databases filter rows",
    read: (text) => flag(text, (disablePushdown) => ({ disablePushdown })),
  },
  max_batch_rows: {
    values: `1 to ${MAX_BATCH_ROWS}`,
    meaning: "most rows of a call; tables and partitions stay whole",
    read: (text) => {
      const rows = /^\d{1,9}$/.test(text.trim()) ? Number(text) : 0;
      return rows >= 1 && rows <= MAX_BATCH_ROWS ? { maxBatchRows: rows } : undefined;
    },
  },
} as const satisfies Readonly<Record<string, PlannerOption>>;

function flag(text: string, options: (value: boolean) => Partial<PlannerOptions>): Partial<PlannerOptions> | undefined {
  const word = text.trim().toLowerCase();
  if (word === "true" || word === "1") return options(true);
  return word === "false" || word === "0" ? options(false) : undefined;
}

/** Two lines for each option, for help: how it is written, and below, indented, what it does. */
export function plannerOptionLines(): string[] {
  return Object.entries<PlannerOption>(PLANNER_OPTIONS).flatMap(([name, { values, meaning }]) => [
    `  ${name}=<${values}>`,
    `      ${meaning}`,
  ]);
}

/** Most unknown options for which similar names are looked for. */
const MAX_GUESSES = 20;

/**
 * The options that texts set. `problems` has a sentence for each unknown option and each bad value.
 */
export function readPlannerOptions(given: Readonly<Record<string, string>>): {
  readonly options: PlannerOptions;
  readonly problems: readonly string[];
} {
  let options = DEFAULT_PLANNER_OPTIONS;
  const problems: string[] = [];
  for (const name in given) {
    const option = Object.hasOwn(PLANNER_OPTIONS, name) ? (PLANNER_OPTIONS as Record<string, PlannerOption>)[name] : undefined;
    const text = given[name] ?? "";
    const read = option?.read(text);
    if (read) options = { ...options, ...read };
    else if (option) problems.push(`planner option '${name}': expected ${option.values}, got '${text}'`);
    else {
      const names = problems.length < MAX_GUESSES ? Object.keys(PLANNER_OPTIONS) : [];
      problems.push(
        names.length > 0
          ? `unknown planner option '${name}'; ${didYouMean(name, names) || `the options are ${names.join(", ")}`}`
          : `unknown planner option '${name}'`,
      );
    }
  }
  return { options, problems };
}
