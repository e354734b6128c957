import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, oneOf, optional, real, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { EvaluationRunRecord, EvaluationStore } from "./evaluations.ts";
import type { JobRecord, NewJob } from "./jobs.ts";

const OPEN = "state in ('received', 'running')";

/** The runs of evaluations of the SQLite backend. */
export function sqliteEvaluations(db: Database, writer: Writer, now: () => number, insertJob: (job: NewJob) => JobRecord): EvaluationStore {
  const table = createTable<EvaluationRunRecord>(db, "evaluation_run", {
    id: text,
    environmentId: text,
    evaluationId: text,
    evaluationName: text,
    workflowId: text,
    dataset: text,
    revisionId: text,
    deploymentId: text,
    branch: text,
    metadata: json(),
    rows: integer,
    createdBy: text,
    state: oneOf(),
    fence: integer,
    attempts: integer,
    rowsDone: integer,
    rowsFailed: integer,
    firstFailure: optional(json()),
    scores: json(),
    averageScore: optional(real),
    resultRevisionId: text,
    error: text,
    createdAt: integer,
    startedAt: optional(integer),
    endedAt: optional(integer),
  });
  /** A run to which the holder of a fencing number may write. */
  const writable = (id: string, fence: number): EvaluationRunRecord | undefined =>
    table.one(`where id = ? and fence <= ? and ${OPEN}`, id, fence);
  const openRuns = (environmentId: string): number =>
    db.query<{ n: number }, [string]>(`select count(*) as n from evaluation_run where environment_id = ? and ${OPEN}`).get(environmentId)
      ?.n ?? 0;

  return {
    create: (run, job, limit) =>
      writer.write(() => {
        if (openRuns(run.environmentId) >= limit) return "full";
        insertJob(job);
        table.insert({
          ...run,
          ...{
            state: "received",
            fence: 0,
            attempts: 0,
            rowsDone: 0,
            rowsFailed: 0,
            firstFailure: undefined,
            scores: [],
            averageScore: undefined,
          },
          ...{ resultRevisionId: "", error: "", createdAt: now(), startedAt: undefined, endedAt: undefined },
        });
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

    update: (id, fence, patch) =>
      writer.write(() => {
        if (!writable(id, fence)) return false;
        const hasEnded = patch.state === "succeeded" || patch.state === "failed" || patch.state === "cancelled";
        table.update({ ...patch, fence, ...(hasEnded && { endedAt: now() }) }, "where id = $key", { key: id });
        return true;
      }),

    cancel: (id) =>
      writer.write(() => {
        const isOpen = table.one(`where id = ? and ${OPEN}`, id) !== undefined;
        if (isOpen) table.update({ state: "cancelled", endedAt: now() }, "where id = $key", { key: id });
        return isOpen;
      }),

    async run(id) {
      return table.one("where id = ?", id);
    },

    async list({ environmentId, evaluationId, states, before, limit }) {
      return table.all(
        `where environment_id = ?1 and (?2 is null or evaluation_id = ?2) and (?3 is null or state in (select value from json_each(?3)))
           and (?4 is null or seq < (select seq from evaluation_run where id = ?4)) order by seq desc limit ?5`,
        environmentId,
        evaluationId ?? null,
        states === undefined ? null : JSON.stringify(states),
        before ?? null,
        limit,
      );
    },

    async latestScored(environmentId, evaluationIds) {
      return evaluationIds.flatMap((evaluationId) => {
        const latest = table.one(
          "where environment_id = ? and evaluation_id = ? and average_score is not null and state = 'succeeded' order by seq desc limit 1",
          environmentId,
          evaluationId,
        );
        return latest ? [latest] : [];
      });
    },

    purge: (olderThanMs, limit) =>
      writer.write(
        () =>
          db
            .query("delete from evaluation_run where seq in (select seq from evaluation_run where ended_at < ? order by ended_at limit ?)")
            .run(now() - olderThanMs, limit).changes,
      ),
  };
}
