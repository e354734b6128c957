import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { IncrementalKey, IncrementalProgress, IncrementalStep, IncrementalStore } from "./incremental.ts";

const NONE: IncrementalProgress = { maxIngested: undefined, lastExecution: undefined, revision: 0 };
const KEY = "where environment_id = ? and kind = ? and name = ?";

/** The progress of the SQLite backend, and how other writes of the same step add to it. */
export function incrementalQueries(
  db: Database,
  writer: Writer,
): { readonly incremental: IncrementalStore; readonly advance: (step: IncrementalStep) => boolean } {
  const table = createTable<IncrementalKey & IncrementalProgress>(db, "incremental_progress", {
    environmentId: text,
    kind: oneOf(),
    name: text,
    maxIngested: optional(integer),
    lastExecution: optional(integer),
    revision: integer,
  });
  const find = ({ environmentId, kind, name }: IncrementalKey): IncrementalProgress => {
    const { maxIngested, lastExecution, revision } = table.one(KEY, environmentId, kind, name) ?? NONE;
    return { maxIngested, lastExecution, revision };
  };
  const put = (key: IncrementalKey, times: Partial<IncrementalProgress>): IncrementalProgress => {
    const before = find(key);
    const after = { ...before, ...times, revision: before.revision + 1 };
    if (before.revision === 0) table.insert({ ...key, ...after });
    else table.update(after, "where environment_id = $e and kind = $k and name = $n", { e: key.environmentId, k: key.kind, n: key.name });
    return after;
  };
  const advance = ({ key, revision, maxIngested, lastExecution }: IncrementalStep): boolean => {
    const before = find(key);
    if (before.revision !== revision) return false;
    const latest = Math.max(before.maxIngested ?? Number.NEGATIVE_INFINITY, maxIngested ?? Number.NEGATIVE_INFINITY);
    put(key, { lastExecution, maxIngested: Number.isFinite(latest) ? latest : undefined });
    return true;
  };
  return {
    advance,
    incremental: {
      async progress(key) {
        return find(key);
      },
      set: (key, times) => writer.write(() => put(key, times)),
      drop: (key) =>
        writer.write(() => {
          const { maxIngested, lastExecution } = find(key);
          put(key, { maxIngested: undefined, lastExecution: undefined });
          return maxIngested !== undefined || lastExecution !== undefined;
        }),
      advance: (step) => writer.write(() => advance(step)),
    },
  };
}
