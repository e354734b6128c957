/**
 * What an attempt at a shard still has to store: an attempt before it may have stored any part of
 * what it computed. An observation of the same row and time is that attempt's when it came after
 * the query began, or has the same value.
 */

import type { OfflineStore } from "../stores/offline/store.ts";
import type { FreshColumn } from "../writes/sink.ts";

/** Milliseconds by which the clocks of nodes may differ. */
const CLOCK_TOLERANCE_MS = 5_000;

/**
 * Columns without the values that the history has.
 * @param begun when the query began, epoch milliseconds
 */
export async function unstored(
  columns: readonly FreshColumn[],
  offline: Pick<OfflineStore, "sample">,
  begun: number,
): Promise<readonly FreshColumn[]> {
  const left: FreshColumn[] = [];
  for (const column of columns) {
    const { featureId, keys, observedAt, values } = column;
    const [found] = await offline.sample({ keys, times: observedAt }, [{ featureId }], {});
    const rows = [...keys.keys()].filter((row) => {
      if (found?.observedAt[row] !== observedAt[row]) return true;
      const isOurs = (found?.insertedAt[row] as number) >= begun - CLOCK_TOLERANCE_MS;
      return !isOurs && !Bun.deepEquals(found?.values[row], values[row]);
    });
    if (rows.length === 0) continue;
    const of = <T>(all: readonly T[]): readonly T[] => rows.map((row) => all[row] as T);
    left.push(rows.length === keys.length ? column : { ...column, keys: of(keys), values: of(values), observedAt: of(observedAt) });
  }
  return left;
}
