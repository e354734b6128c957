import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { FunctionCallRecord, FunctionCallStore } from "./function-calls.ts";
import type { JobRecord, NewJob } from "./jobs.ts";

const OPEN = "state in ('queued', 'running')";

/** The kept calls of the SQLite backend. */
export function sqliteFunctionCalls(
  db: Database,
  writer: Writer,
  now: () => number,
  insertJob: (job: NewJob) => JobRecord,
): FunctionCallStore {
  const table = createTable<FunctionCallRecord>(db, "function_call", {
    id: text,
    environmentId: text,
    branch: text,
    deploymentId: text,
    name: text,
    version: integer,
    traceId: text,
    traceparent: text,
    form: oneOf(),
    rows: integer,
    createdBy: text,
    state: oneOf(),
    fence: integer,
    attempts: integer,
    inputBytes: integer,
    error: optional(json()),
    enqueuedAt: integer,
    startedAt: optional(integer),
    endedAt: optional(integer),
  });
  const open = (environmentId: string): { readonly calls: number; readonly bytes: number } =>
    db
      .query<{ calls: number; bytes: number }, [string]>(
        `select count(*) as calls, coalesce(sum(input_bytes), 0) as bytes from function_call where environment_id = ? and ${OPEN}`,
      )
      .get(environmentId) ?? { calls: 0, bytes: 0 };
  /** A call to which the holder of a fencing number may write. */
  const writable = (id: string, fence: number): FunctionCallRecord | undefined =>
    table.one(`where id = ? and fence <= ? and ${OPEN}`, id, fence);
  const forget = (id: string): void => {
    db.query("delete from function_call_input where call_id = ?").run(id);
  };
  const bytesOf = (kind: "input" | "output", id: string): Uint8Array | undefined =>
    db.query<{ bytes: Uint8Array }, [string]>(`select bytes from function_call_${kind} where call_id = ?`).get(id)?.bytes;

  return {
    submit: (call, input, job, limits) =>
      writer.write(() => {
        const { calls, bytes } = open(call.environmentId);
        if (calls >= limits.calls || bytes + input.length > limits.bytes) return "full";
        insertJob(job);
        table.insert({
          ...{ ...call, state: "queued", fence: 0, attempts: 0, inputBytes: input.length, error: undefined },
          ...{ enqueuedAt: now(), startedAt: undefined, endedAt: undefined },
        });
        db.query("insert into function_call_input (call_id, bytes) values (?, ?)").run(call.id, input);
        return "stored";
      }),

    begin: (id, fence, attempts) =>
      writer.write(() => {
        const known = writable(id, fence);
        if (!known) return undefined;
        const begun = { attempts, state: "running", fence, startedAt: known.startedAt ?? now() } as const;
        table.update(begun, "where id = $key", { key: id });
        return { ...known, ...begun };
      }),

    end: (id, fence, outcome) =>
      writer.write(() => {
        if (!writable(id, fence)) return false;
        const error = outcome.state === "failed" ? outcome.error : undefined;
        table.update({ state: outcome.state, fence, error, endedAt: now() }, "where id = $key", { key: id });
        if (outcome.state === "succeeded")
          db.query("insert into function_call_output (call_id, bytes) values (?, ?)").run(id, outcome.output);
        forget(id);
        return true;
      }),

    cancel: (id) =>
      writer.write(() => {
        const isOpen = table.one(`where id = ? and ${OPEN}`, id) !== undefined;
        if (!isOpen) return false;
        table.update({ state: "cancelled", endedAt: now() }, "where id = $key", { key: id });
        forget(id);
        return true;
      }),

    async call(id) {
      return table.one("where id = ?", id);
    },

    async input(id) {
      return bytesOf("input", id);
    },

    async output(id) {
      return bytesOf("output", id);
    },

    async list(environmentId, name, limit) {
      return name === undefined
        ? table.all("where environment_id = ? order by seq desc limit ?", environmentId, limit)
        : table.all("where environment_id = ? and name = ? order by seq desc limit ?", environmentId, name, limit);
    },

    async count(environmentId, name, since) {
      const row = db
        .query<{ n: number }, [string, number, string | null]>(
          "select count(*) as n from function_call where environment_id = ?1 and enqueued_at >= ?2 and (?3 is null or name = ?3)",
        )
        .get(environmentId, since, name ?? null);
      return row?.n ?? 0;
    },

    forgetResults: (olderThanMs, limit) =>
      writer.write(
        () =>
          db
            .query(
              `delete from function_call_output where call_id in (select call_id from function_call_output o
                 join function_call c on c.id = o.call_id where c.ended_at < ? limit ?)`,
            )
            .run(now() - olderThanMs, limit).changes,
      ),

    purge: (olderThanMs, limit) =>
      writer.write(
        () =>
          db
            .query("delete from function_call where seq in (select seq from function_call where ended_at < ? order by ended_at limit ?)")
            .run(now() - olderThanMs, limit).changes,
      ),
  };
}
