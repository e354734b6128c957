/** Lines of one thing, for its page. */

import type { Search } from "../../domain/search/tree.ts";
import type { LogStore, StoredRecord } from "../stores/logs/store.ts";

/** Pages of a search that are asked for at most before what was found is shown. */
const MOST_PAGES = 20;

/** The newest lines of a query, run, offline query or build, oldest first. */
export function linesOfOperation(store: LogStore, environmentId: string, operationId: string, limit: number): Promise<StoredRecord[]> {
  return newest(store, environmentId, { is: "equal", field: "operation_id", value: operationId }, limit);
}

/**
 * The newest lines of a deployment, of its build and of its resolvers, oldest first. Where many
 * lines of others came later, only those of the build may be found.
 */
export async function linesOfDeployment(
  store: LogStore,
  environmentId: string,
  deploymentId: string,
  limit: number,
): Promise<StoredRecord[]> {
  const [build, all] = await Promise.all([
    linesOfOperation(store, environmentId, deploymentId, limit),
    newest(store, environmentId, { is: "equal", field: "deployment", value: deploymentId }, limit),
  ]);
  const lines = new Map([...build, ...all].map((line) => [line.seq, line]));
  return [...lines.values()].sort((one, other) => one.seq - other.seq).slice(-limit);
}

async function newest(store: LogStore, environmentId: string, search: Search, limit: number): Promise<StoredRecord[]> {
  const found: StoredRecord[] = [];
  let next: number | undefined;
  for (let page = 0; page < MOST_PAGES && found.length < limit; page++) {
    const answer = await store.search({ kind: "line", environmentIds: [environmentId], search }, limit - found.length, next);
    found.push(...answer.records);
    next = answer.next;
    if (next === undefined) break;
  }
  return found.toReversed();
}
