/** Lines of one thing, for its page. */

import type { LogStore, StoredRecord } from "../stores/logs/store.ts";

/** Pages of a search that are asked for at most before what was found is shown. */
const MOST_PAGES = 20;

/** The newest lines of a query, run, offline query or build, oldest first. */
export async function linesOfOperation(
  store: LogStore,
  environmentId: string,
  operationId: string,
  limit: number,
): Promise<StoredRecord[]> {
  const filter = {
    kind: "line",
    environmentIds: [environmentId],
    search: { is: "equal", field: "operation_id", value: operationId },
  } as const;
  const found: StoredRecord[] = [];
  let next: number | undefined;
  for (let page = 0; page < MOST_PAGES && found.length < limit; page++) {
    const answer = await store.search(filter, limit - found.length, next);
    found.push(...answer.records);
    next = answer.next;
    if (next === undefined) break;
  }
  return found.toReversed();
}
