/** Bodies with placeholders: run once for each distinct set of arguments. */

import { encodeStored, type FeatureValue } from "../../../domain/value.ts";
import { SqlError, type SqlResult, type SqlSource } from "../../sql/source.ts";
import type { SqlInfo } from "../graph/index-types.ts";
import type { RunContext } from "../run/run.ts";
import { eachOf, runStatement } from "./run-statement.ts";
import { relocate, SqlRefusal } from "./sql-refusal.ts";
import { boundStatement, parameterName } from "./sql-statement.ts";

/** The parameters of a run of a body. */
export interface BodyRun {
  readonly sql: SqlInfo;
  readonly source: SqlSource;
  readonly context: RunContext;
  readonly signal: AbortSignal;
}

/**
 * Runs a body.
 * @returns for each set of arguments its rows, the same object for the same arguments, or why
 * these arguments have none, for `sqlFailure`
 */
export async function runBodies(
  { sql, source, context, signal }: BodyRun,
  args: readonly FeatureValue[][],
): Promise<readonly (SqlResult | SqlRefusal)[]> {
  const text = boundStatement(sql, source);
  const run = { text, linesBefore: 0, parameterName: (position: number) => parameterName(sql, position) };
  const ids = args.map((values) => encodeStored(values));
  const distinct = new Map(ids.map((id, at) => [id, args[at] as FeatureValue[]]));
  const results = new Map<string, SqlResult | SqlRefusal>();
  await eachOf([...distinct], async ([id, parameters]) => {
    try {
      results.set(id, await runStatement(context, source, text, parameters, signal).catch((error: unknown) => relocate(error, sql, run)));
    } catch (error) {
      if (!(error instanceof SqlRefusal) || error.fault === "statement") throw error;
      results.set(id, error);
    }
  });
  return ids.map((id) => results.get(id) as SqlResult | SqlRefusal);
}

/** The position of a column in a result, whatever its case. Throws SqlError. */
export function columnPosition(columns: readonly string[], name: string): number {
  const exact = columns.indexOf(name);
  const position = exact >= 0 ? exact : columns.findIndex((column) => column.toLowerCase() === name.toLowerCase());
  if (position < 0) throw new SqlError(`the result has no column '${name}'; its columns are ${columns.join(", ")}`);
  return position;
}
