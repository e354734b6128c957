import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { NewWorkflow, OperationCount, WorkflowRecord, WorkflowStatus, WorkflowStore } from "./workflows.ts";

/** How a workflow follows its jobs, in the steps that change those. */
export interface WorkflowFollower {
  /** Stores a workflow. */
  begin(workflow: NewWorkflow): void;
  /** A job was added. Throws when there is no such workflow. */
  joined(id: string): void;
  /** A job of it is run. */
  began(id: string): void;
  /** Jobs of it have ended or were removed. */
  settled(id: string): void;
}

/** The workflows of the SQLite backend, and how the queue has them follow their jobs. */
export function workflowQueries(
  db: Database,
  writer: Writer,
  now: () => number,
): { readonly workflows: WorkflowStore; readonly follower: WorkflowFollower } {
  const table = createTable<WorkflowRecord>(db, "workflow", {
    id: text,
    environmentId: text,
    deploymentId: text,
    kind: oneOf(),
    subject: text,
    operations: json(),
    status: oneOf(),
    createdAt: integer,
    startedAt: optional(integer),
    endedAt: optional(integer),
  });
  const hasJobs = (id: string, state: string): boolean =>
    db.query("select 1 from job where workflow_id = ? and workflow_id <> '' and state = ? limit 1").get(id, state) !== null;

  const workflows: WorkflowStore = {
    async workflow(id) {
      return table.one("where id = ?", id);
    },

    async list({ environmentId, deploymentId, kind, status, idPart, before, offset = 0, limit }) {
      return table.all(
        `where environment_id = ?1 and (?2 is null or deployment_id = ?2) and (?3 is null or kind = ?3) and (?4 is null or status = ?4)
           and (?5 is null or instr(id, ?5) > 0) and (?6 is null or seq < (select seq from workflow where id = ?6))
         order by seq desc limit ?7 offset ?8`,
        environmentId,
        deploymentId ?? null,
        kind ?? null,
        status ?? null,
        idPart ?? null,
        before ?? null,
        limit,
        offset,
      );
    },

    async counts(id) {
      return db
        .query<OperationCount, [string]>(
          `select operation_id as operationId, min(kind) as kind, state, count(*) as jobs from job
           where workflow_id = ? and workflow_id <> '' group by operation_id, state order by min(seq)`,
        )
        .all(id);
    },

    purge: (olderThanMs, limit) =>
      writer.write(
        () =>
          db
            .query("delete from workflow where seq in (select seq from workflow where ended_at < ? order by ended_at limit ?)")
            .run(now() - olderThanMs, limit).changes,
      ),
  };

  const follower: WorkflowFollower = {
    begin: (workflow) => table.insert({ ...workflow, status: "queued", createdAt: now(), startedAt: undefined, endedAt: undefined }),

    joined(id) {
      const workflow = table.one("where id = ?", id);
      if (!workflow) throw new Error(`a job is to be a part of workflow ${id}, which there is not`);
      if (workflow.endedAt !== undefined) table.update({ status: "working", endedAt: undefined }, "where id = $key", { key: id });
    },

    began(id) {
      const workflow = table.one("where id = ? and status <> 'working'", id);
      if (!workflow) return;
      const startedAt = workflow.startedAt ?? now();
      table.update({ status: "working", startedAt, endedAt: undefined }, "where id = $key", { key: id });
    },

    settled(id) {
      if (hasJobs(id, "queued") || hasJobs(id, "running")) return;
      const isSuccess = !hasJobs(id, "cancelled") && hasJobs(id, "succeeded");
      const status: WorkflowStatus = hasJobs(id, "failed") ? "failed" : isSuccess ? "completed" : "canceled";
      table.update({ status, endedAt: now() }, "where id = $key and ended_at is null", { key: id });
    },
  };
  return { workflows, follower };
}
