/** Work that is told the time once for all of its rows: done apart for the rows of each time. */

import type { ResolverInfo } from "../graph/index-types.ts";
import type { Execution } from "../run/executor.ts";
import type { OpResults, RowFound } from "../run/run-context.ts";
import { eachOf } from "./run-statement.ts";

/** Whether what a resolver gives may be another at another time. */
export function takesTime({ inputs, sql }: ResolverInfo): boolean {
  return (sql?.parameters ?? inputs).some((parameter) => parameter.now);
}

/** Does work for some rows of a run: at once when they have one time, else for those of each time apart. Gives what came of it by the positions of its rows. */
export async function eachTime<T>(
  execution: Execution,
  rows: readonly number[],
  work: (rows: readonly number[]) => Promise<T>,
): Promise<readonly { readonly positions: readonly number[]; readonly result: T }[]> {
  const parts = new Map<bigint, number[]>();
  for (const [position, row] of rows.entries()) {
    const { micros } = execution.timeOf(row);
    const part = parts.get(micros);
    if (part) part.push(position);
    else parts.set(micros, [position]);
  }
  const done: { readonly positions: readonly number[]; readonly result: T }[] = [];
  await eachOf([...parts.values()], async (positions) => {
    done.push({ positions, result: await work(positions.map((position) => rows[position] as number)) });
  });
  return done;
}

/** The same for the results of an op. */
export async function callEachTime(
  execution: Execution,
  rows: readonly number[],
  call: (rows: readonly number[]) => Promise<OpResults>,
): Promise<OpResults> {
  const parts = await eachTime(execution, rows, call);
  const [only] = parts;
  if (only && parts.length === 1) return only.result;
  const outcomes = (only?.result.outcomes ?? []).map((): OpResults["outcomes"][number][number][] => new Array(rows.length));
  const observedAt = new Array<number | undefined>(rows.length);
  const found = only?.result.found && new Array<RowFound>(rows.length);
  for (const { positions, result } of parts)
    for (const [at, position] of positions.entries()) {
      for (const [output, column] of outcomes.entries()) column[position] = result.outcomes[output]?.[at] as (typeof column)[number];
      observedAt[position] = result.observedAt[at];
      if (found) found[position] = result.found?.[at] as RowFound;
    }
  return { outcomes, observedAt, ...(found ? { found } : {}) };
}
