import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { flag, integer, json, oneOf, optional, real, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { JobRecord, NewJob } from "./jobs.ts";
import type { OfflineQueryRecord, OfflineQueryStanding, OfflineQueryStore, OfflineShard, ShardCounts } from "./offline-queries.ts";

const OPEN = "ended_at is null";
const NOTHING: ShardCounts = { doneRows: 0, rows: 0, failedRows: 0, lateValues: 0, rowError: "" };

/** The offline queries of the SQLite backend. */
export function offlineQueryQueries(
  db: Database,
  writer: Writer,
  now: () => number,
  insertJob: (job: NewJob) => JobRecord,
): OfflineQueryStore {
  const table = createTable<OfflineQueryRecord & { readonly inputKey: string }>(db, "offline_query", {
    id: text,
    environmentId: text,
    branch: text,
    deploymentId: text,
    kind: oneOf(),
    queryName: text,
    queryNameVersion: text,
    agentId: text,
    datasetName: text,
    outputs: json(),
    request: json(),
    retryOf: text,
    state: oneOf(),
    createdAt: integer,
    startedAt: optional(integer),
    endedAt: optional(integer),
    totalRows: optional(integer),
    splitAt: optional(real),
    datasetId: text,
    revisionId: text,
    error: text,
    isTidy: flag,
    inputKey: text,
  });
  const shards = createTable<OfflineShard & { readonly fence: number }>(db, "offline_query_shard", {
    queryId: text,
    shard: integer,
    fromRow: integer,
    spineRows: integer,
    doneRows: integer,
    rows: integer,
    failedRows: integer,
    lateValues: integer,
    rowError: text,
    isDone: flag,
    fence: integer,
  });
  const recordOf = ({ inputKey: _, ...record }: OfflineQueryRecord & { readonly inputKey: string }): OfflineQueryRecord => record;
  const complete = db.query<object, [string]>("select 1 from dataset_revision where id = ? and state in ('complete', 'archived')");
  const find = (id: string): OfflineQueryRecord | undefined => {
    const found = table.one("where id = ?", id);
    return found && recordOf(found);
  };
  const standing = (record: OfflineQueryRecord): OfflineQueryStanding => {
    const counts = db
      .query<{ done: number | null; rows: number; failed: number; late: number }, [string]>(
        `select sum(done_rows) as done, sum(rows) as rows, sum(failed_rows) as failed, sum(late_values) as late
           from offline_query_shard where query_id = ?`,
      )
      .get(record.id);
    if (!counts || counts.done === null) return { ...record, ...NOTHING };
    const first = shards.one("where query_id = ? and row_error <> '' order by shard limit 1", record.id);
    return {
      ...record,
      ...{ doneRows: counts.done, rows: counts.rows, failedRows: counts.failed, lateValues: counts.late },
      rowError: first?.rowError ?? "",
    };
  };
  const openQueries = (environmentId: string): number =>
    db.query<{ n: number }, [string]>(`select count(*) as n from offline_query where environment_id = ? and ${OPEN}`).get(environmentId)
      ?.n ?? 0;

  return {
    create: (query, jobs, limit) =>
      writer.write(() => {
        if (openQueries(query.environmentId) >= limit) return "full";
        const { rows } = query.request;
        const unknown = { startedAt: undefined, endedAt: undefined, totalRows: undefined, splitAt: undefined };
        const record: OfflineQueryRecord = {
          ...{ ...query, ...unknown, state: "queued", createdAt: now(), datasetId: "", revisionId: "", error: "", isTidy: false },
        };
        table.insert({ ...record, inputKey: "key" in rows ? rows.key : "" });
        for (const job of jobs) insertJob(job);
        return { ...record, ...NOTHING };
      }),

    begin: (id) =>
      writer.write(() => {
        const known = find(id);
        if (!known || known.endedAt !== undefined) return undefined;
        const begun = { state: "working", startedAt: known.startedAt ?? now() } as const;
        table.update(begun, "where id = $key", { key: id });
        return { ...known, ...begun };
      }),

    plan: (id, { shards: wanted, ...spine }) =>
      writer.write(() => {
        const known = find(id);
        if (!known || known.endedAt !== undefined) return false;
        if (known.totalRows !== undefined) return true;
        table.update(spine, "where id = $key", { key: id });
        for (const [shard, rows] of wanted.entries()) shards.insert({ queryId: id, shard, ...rows, ...NOTHING, isDone: false, fence: 0 });
        return true;
      }),

    async shard(id, shard) {
      const found = shards.one("where query_id = ? and shard = ?", id, shard);
      if (!found) return undefined;
      const { fence: _, ...record } = found;
      return record;
    },

    report: (id, shard, fence, counts) =>
      writer.write(() => {
        const known = find(id);
        if (!known || known.endedAt !== undefined) return false;
        return (
          shards.update({ ...counts, fence }, "where query_id = $id and shard = $number and fence <= $fence", { id, number: shard }) > 0
        );
      }),

    end: (id, wanted, wantedError = "") =>
      writer.write(() => {
        const known = find(id);
        if (!known || known.endedAt !== undefined) return false;
        const isComplete = complete.get(known.revisionId) !== null;
        const [state, error] = isComplete ? (["completed", ""] as const) : [wanted, wantedError];
        table.update({ state, error, endedAt: now(), isTidy: state === "completed" }, "where id = $key", { key: id });
        return state === wanted;
      }),

    tidied: (id) => writer.write(() => void table.update({ isTidy: true }, "where id = $key", { key: id })),

    async untidy(limit) {
      return table.all("where is_tidy = 0 and ended_at is not null order by ended_at limit ?", limit).map(recordOf);
    },

    async query(id) {
      const found = find(id);
      return found && standing(found);
    },

    async list({ environmentId, id, branch, agentId, state, kind, queryName, queryNameVersion, since, before, limit }) {
      const isOpen = state === "queued" || state === "working";
      return table
        .all(
          `${isOpen ? `indexed by offline_query_open where ${OPEN} and` : "where"} environment_id = ?1 and (?2 is null or instr(id, ?2) > 0) and (?3 is null or branch = ?3) and (?4 is null or agent_id = ?4)
             and (?5 is null or state = ?5) and (?6 is null or kind = ?6) and (?7 is null or query_name = ?7)
             and (?8 is null or query_name_version = ?8) and (?9 is null or created_at >= ?9)
             and (?10 is null or seq < (select seq from offline_query where id = ?10)) order by seq desc limit ?11`,
          ...[environmentId, id ?? null, branch ?? null, agentId ?? null, state ?? null, kind ?? null, queryName ?? null],
          ...[queryNameVersion ?? null, since ?? null, before ?? null, limit],
        )
        .map((found) => standing(recordOf(found)));
    },

    async inputsInUse(keys, endedAfter) {
      const used = db.query<{ input_key: string }, [string, number]>(
        "select input_key from offline_query where input_key = ? and (ended_at is null or ended_at >= ?) limit 1",
      );
      return keys.filter((key) => used.get(key, endedAfter) !== null);
    },

    purge: (olderThanMs, limit) =>
      writer.write(() => {
        const old = "select seq from offline_query where is_tidy = 1 and ended_at < ? order by ended_at limit ?";
        const removed = table.remove(`where seq in (${old})`, now() - olderThanMs, limit);
        for (const { id } of removed) shards.remove("where query_id = ?", id);
        return removed.length;
      }),
  };
}
