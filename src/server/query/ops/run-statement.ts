/**
 * Statements of a query: the same one with the same values runs once, however many relations it
 * serves.
 */

import { encodeStored, type FeatureValue } from "../../../domain/value.ts";
import type { SqlResult, SqlSource } from "../../sql/source.ts";
import type { RunContext } from "../run/run.ts";

/** Results with more rows are kept only while their statement runs. */
const MAX_KEPT_ROWS = 10_000;
/** Results that are kept until the query ends. */
const MAX_KEPT = 64;

/** Most statements of one op that run concurrently. */
const MAX_STATEMENTS = 8;

/**
 * Runs a statement, or returns the result of the same one that another step ran; failures are not
 * shared. Results must not be changed.
 */
export async function runStatement(
  context: RunContext,
  source: SqlSource,
  text: string,
  parameters: readonly FeatureValue[],
  signal: AbortSignal,
): Promise<SqlResult> {
  const known = context.caches.statements;
  const id = `${source.name}\0${text}\0${encodeStored([...parameters])}`;
  const running = known.get(id);
  if (running) {
    const result = await running.catch(() => undefined);
    if (result) return result;
  }
  const own = source.query(text, parameters, signal);
  known.set(id, own);
  const forget = () => {
    if (known.get(id) === own) known.delete(id);
  };
  try {
    const result = await own;
    if (result.rows.length > MAX_KEPT_ROWS || known.size > MAX_KEPT) forget();
    return result;
  } catch (error) {
    forget();
    throw error;
  }
}

/** Runs work for every item, with bounded concurrency. */
export async function eachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const [only] = items;
  if (items.length === 1 && only !== undefined) return run(only);
  let next = 0;
  const lane = async () => {
    while (next < items.length) await run(items[next++] as T);
  };
  await Promise.all(Array.from({ length: Math.min(MAX_STATEMENTS, items.length) }, lane));
}
