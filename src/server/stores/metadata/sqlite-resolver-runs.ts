import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { IncrementalStep } from "./incremental.ts";
import type { JobRecord, NewJob } from "./jobs.ts";
import type { NewResolverRun, ResolverRunRecord, ResolverRunStore } from "./resolver-runs.ts";

const OPEN = "state in ('received', 'running')";

/** The runs of resolvers of the SQLite backend. */
export function resolverRunQueries(
  db: Database,
  writer: Writer,
  now: () => number,
  insertJob: (job: NewJob) => JobRecord,
  advance: (step: IncrementalStep) => boolean,
): ResolverRunStore {
  const table = createTable<ResolverRunRecord>(db, "resolver_run", {
    id: text,
    environmentId: text,
    resolver: text,
    cause: oneOf(),
    request: json(),
    deploymentId: text,
    idempotencyKey: optional(text),
    state: oneOf(),
    fence: integer,
    createdAt: integer,
    startedAt: optional(integer),
    endedAt: optional(integer),
    rows: integer,
    failedRows: integer,
    error: text,
    position: text,
    incremental: optional(json()),
  });
  const find = (id: string): ResolverRunRecord | undefined => table.one("where id = ?", id);
  const insert = (run: NewResolverRun, createdAt: number): ResolverRunRecord => {
    const { resolver, deploymentId } = run.request;
    const empty = { startedAt: undefined, endedAt: undefined, rows: 0, failedRows: 0, error: "", position: "", incremental: undefined };
    const made: ResolverRunRecord = { ...run, resolver, deploymentId, state: "received", fence: 0, createdAt, ...empty };
    table.insert(made);
    return made;
  };
  /** A run to which the holder of a fencing number may write. */
  const writable = (id: string, fence: number): ResolverRunRecord | undefined =>
    table.one(`where id = ? and fence <= ? and ${OPEN}`, id, fence);
  const openRuns = (environmentId: string): number =>
    db.query<{ n: number }, [string]>(`select count(*) as n from resolver_run where environment_id = ? and ${OPEN}`).get(environmentId)
      ?.n ?? 0;

  return {
    create: (run, job, limit) =>
      writer.write(() => {
        const { environmentId, idempotencyKey } = run;
        const known =
          idempotencyKey === undefined
            ? undefined
            : table.one("where environment_id = ? and idempotency_key = ?", environmentId, idempotencyKey);
        if (known) return known;
        if (openRuns(environmentId) >= limit) return "full";
        return insert(run, insertJob(job).createdAt);
      }),

    begin: (run, fence, createdAt, deploymentId) =>
      writer.write(() => {
        if (!find(run.id)) insert(run, createdAt);
        const known = writable(run.id, fence);
        if (!known) return undefined;
        const attempt = { state: "running", fence } as const;
        const first = { deploymentId: known.deploymentId || deploymentId, startedAt: known.startedAt ?? now() };
        table.update({ ...attempt, ...first }, "where id = $key", { key: run.id });
        db.query("update workflow set deployment_id = ? where deployment_id = '' and id = (select workflow_id from job where id = ?)").run(
          first.deploymentId,
          run.id,
        );
        return { ...known, ...attempt, ...first };
      }),

    update: (id, fence, patch, step) =>
      writer.write(() => {
        if (!writable(id, fence)) return false;
        if (step) advance(step);
        table.update({ ...patch, fence, ...(patch.state && { endedAt: now() }) }, "where id = $key", { key: id });
        return true;
      }),

    async run(id) {
      return find(id);
    },

    async list({ environmentId, resolver, since, until, before, limit }) {
      return table.all(
        `where environment_id = ?1 and (?2 is null or resolver = ?2) and (?3 is null or created_at >= ?3) and (?4 is null or created_at < ?4)
           and (?5 is null or seq < (select seq from resolver_run where id = ?5)) order by seq desc limit ?6`,
        environmentId,
        resolver ?? null,
        since ?? null,
        until ?? null,
        before ?? null,
        limit,
      );
    },

    purge: (olderThanMs, limit) =>
      writer.write(
        () =>
          db
            .query("delete from resolver_run where seq in (select seq from resolver_run where ended_at < ? order by ended_at limit ?)")
            .run(now() - olderThanMs, limit).changes,
      ),
  };
}
