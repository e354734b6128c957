/** Grouping by time of work that takes one time for all of its rows. */

import type { ResolverInfo } from "../graph/index-types.ts";
import type { Row } from "../plan/ids.ts";
import type { OpResults, RowFound, Run } from "../run/run.ts";
import { eachOf } from "./run-statement.ts";

/** Whether a resolver's result may depend on the query's time. */
export function takesTime({ inputs, sql }: ResolverInfo): boolean {
  return (sql?.parameters ?? inputs).some((parameter) => parameter.now && !parameter.constant);
}

/**
 * Runs work for some rows of a run, once for the rows of each time. Returns each result with the
 * positions of its rows.
 */
export async function eachTime<T>(
  run: Run,
  rows: readonly Row[],
  work: (rows: readonly Row[]) => Promise<T>,
): Promise<readonly { readonly positions: readonly number[]; readonly result: T }[]> {
  const parts = new Map<bigint, number[]>();
  for (const [position, row] of rows.entries()) {
    const { micros } = run.timeOf(row);
    const part = parts.get(micros);
    if (part) part.push(position);
    else parts.set(micros, [position]);
  }
  const done: { readonly positions: readonly number[]; readonly result: T }[] = [];
  await eachOf([...parts.values()], async (positions) => {
    done.push({ positions, result: await work(positions.map((position) => rows[position] as Row)) });
  });
  return done;
}

/** The same for the results of an op. */
export async function callEachTime(run: Run, rows: readonly Row[], call: (rows: readonly Row[]) => Promise<OpResults>): Promise<OpResults> {
  return joinedResults(await eachTime(run, rows, call), rows.length);
}

/** Results of an op for parts of its rows, as those of all of them. */
export function joinedResults(
  parts: readonly { readonly positions: readonly number[]; readonly result: OpResults }[],
  rows: number,
): OpResults {
  const [only] = parts;
  if (only && parts.length === 1) return only.result;
  const outcomes = (only?.result.outcomes ?? []).map((): OpResults["outcomes"][number][number][] => new Array(rows));
  const observedAt = new Array<number | undefined>(rows);
  const found = only?.result.found && new Array<RowFound>(rows);
  for (const { positions, result } of parts)
    for (const [at, position] of positions.entries()) {
      for (const [output, column] of outcomes.entries()) column[position] = result.outcomes[output]?.[at] as (typeof column)[number];
      observedAt[position] = result.observedAt[at];
      if (found) found[position] = result.found?.[at] as RowFound;
    }
  return { outcomes, observedAt, ...(found ? { found } : {}) };
}
