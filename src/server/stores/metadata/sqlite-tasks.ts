import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { JobRecord, NewJob } from "./jobs.ts";
import type { TaskOutput, TaskRecord, TaskStore } from "./tasks.ts";

const OPEN = "state in ('received', 'running')";

/** The tasks of the SQLite backend. */
export function taskQueries(db: Database, writer: Writer, now: () => number, insertJob: (job: NewJob) => JobRecord): TaskStore {
  const table = createTable<TaskRecord>(db, "task", {
    id: text,
    environmentId: text,
    workflowId: text,
    request: json(),
    deploymentId: text,
    branch: text,
    state: oneOf(),
    fence: integer,
    attempts: integer,
    exitCode: optional(integer),
    error: text,
    createdAt: integer,
    startedAt: optional(integer),
    endedAt: optional(integer),
  });
  const outputs = createTable<TaskOutput & { readonly taskId: string }>(db, "task_output", {
    taskId: text,
    result: text,
    stacks: json(),
    dropped: integer,
  });
  /** A task to which the holder of a fencing number may write. */
  const writable = (id: string, fence: number): TaskRecord | undefined => table.one(`where id = ? and fence <= ? and ${OPEN}`, id, fence);
  const openTasks = (environmentId: string): number =>
    db.query<{ n: number }, [string]>(`select count(*) as n from task where environment_id = ? and ${OPEN}`).get(environmentId)?.n ?? 0;
  const unstarted = { state: "received", fence: 0, attempts: 0, exitCode: undefined, error: "" } as const;

  return {
    create: (tasks, jobs, limit) =>
      writer.write(() => {
        const [first] = tasks;
        if (first && openTasks(first.environmentId) + tasks.length > limit) return "full";
        for (const job of jobs) insertJob(job);
        const created = { createdAt: now(), startedAt: undefined, endedAt: undefined, branch: "" };
        for (const task of tasks) table.insert({ ...task, ...unstarted, ...created, deploymentId: task.request.deploymentId });
        return "stored";
      }),

    begin: (id, fence, attempt) =>
      writer.write(() => {
        const known = writable(id, fence);
        if (!known) return undefined;
        const begun = { ...attempt, state: "running", fence, startedAt: known.startedAt ?? now() } as const;
        table.update(begun, "where id = $key", { key: id });
        db.query("update workflow set deployment_id = ? where deployment_id = '' and id = ?").run(attempt.deploymentId, known.workflowId);
        return { ...known, ...begun };
      }),

    update: (id, fence, { output, ...patch }) =>
      writer.write(() => {
        if (!writable(id, fence)) return false;
        table.update({ ...patch, fence, ...(patch.state !== "received" && { endedAt: now() }) }, "where id = $key", { key: id });
        if (output) {
          outputs.remove("where task_id = ?", id);
          outputs.insert({ taskId: id, ...output });
        }
        return true;
      }),

    cancel: (id) =>
      writer.write(() => {
        const isOpen = table.one(`where id = ? and ${OPEN}`, id) !== undefined;
        if (isOpen) table.update({ state: "cancelled", endedAt: now() }, "where id = $key", { key: id });
        return isOpen;
      }),

    async task(id) {
      return table.one("where id = ?", id);
    },

    async output(id) {
      return outputs.one("where task_id = ?", id);
    },

    async list({ environmentId, workflowId, states, since, until, before, limit }) {
      return table.all(
        `where environment_id = ?1 and (?2 is null or workflow_id = ?2) and (?3 is null or state in (select value from json_each(?3)))
           and (?4 is null or created_at >= ?4) and (?5 is null or created_at < ?5)
           and (?6 is null or seq < (select seq from task where id = ?6)) order by seq desc limit ?7`,
        environmentId,
        workflowId ?? null,
        states === undefined ? null : JSON.stringify(states),
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
            .query("delete from task where seq in (select seq from task where ended_at < ? order by ended_at limit ?)")
            .run(now() - olderThanMs, limit).changes,
      ),
  };
}
