import type { Database } from "bun:sqlite";
import { DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable, type Table } from "../sqlite/table.ts";
import type { ApprovalRecord, ApprovalStore, Decision } from "./approvals.ts";
import type { NewJob } from "./jobs.ts";

/** The table of requests for approval. */
function approvalTable(db: Database): Table<ApprovalRecord> {
  return createTable<ApprovalRecord>(db, "approval", {
    id: text,
    environmentId: text,
    kind: text,
    names: json(),
    deploymentId: text,
    replaces: text,
    payload: text,
    state: oneOf(),
    clientId: text,
    personId: text,
    requestedBy: text,
    createdAt: integer,
    expiresAt: integer,
    decidedById: text,
    decidedBy: text,
    decidedAt: optional(integer),
    reason: text,
    appliedAt: optional(integer),
    error: text,
  });
}

/**
 * Stores a request inside of a step, and ends those that it replaces. Returns them, or `full`.
 */
export function insertApproval(db: Database, approval: ApprovalRecord, limit: number): readonly ApprovalRecord[] | "full" {
  const table = approvalTable(db);
  const { environmentId, replaces } = approval;
  const pending = table.all("where environment_id = ? and state = 'pending' order by seq", environmentId);
  const replaced = replaces === "" ? [] : pending.filter((one) => one.replaces === replaces);
  if (pending.length - replaced.length >= limit) return "full";
  const decision: Decision = {
    state: "withdrawn",
    decidedById: approval.clientId,
    decidedBy: approval.requestedBy,
    reason: `${approval.id} took its place`,
    at: approval.createdAt,
    deploymentError: "A later deployment took its place before it was approved.",
  };
  for (const { id } of replaced) end(db, id, decision);
  table.insert(approval);
  return replaced;
}

/** Ends a pending request inside of a step; undefined when it is not pending. */
function end(db: Database, id: string, decision: Decision): ApprovalRecord | undefined {
  const table = approvalTable(db);
  const { state, decidedById, decidedBy, reason, error = "", at, deploymentError } = decision;
  const before = table.one("where id = ? and state = 'pending'", id);
  if (!before || (state === "approved" && before.expiresAt <= at)) return undefined;
  const isApproved = state === "approved";
  const isDeployment = before.deploymentId !== "";
  const change = { state, decidedById, decidedBy, reason, error, decidedAt: at };
  table.update(
    { ...change, ...(!isApproved && { payload: "" }), ...(isApproved && isDeployment && { appliedAt: at }) },
    "where id = $key",
    { key: id },
  );
  if (isDeployment && isApproved) db.query("update deployment set approved = 1 where id = ?").run(before.deploymentId);
  if (isDeployment && !isApproved)
    db.query("update deployment set status = ?, error = ?, updated_at = ? where id = ? and status = ?").run(
      DeploymentStatus.FAILED,
      deploymentError,
      at,
      before.deploymentId,
      DeploymentStatus.WAITING,
    );
  return table.one("where id = ?", id);
}

/** Requests for approval of the SQLite driver. */
export function sqliteApprovals(db: Database, writer: Writer, insertJob: (job: NewJob) => void): ApprovalStore {
  const table = approvalTable(db);

  return {
    create: (approval, limit) => writer.write(() => insertApproval(db, approval, limit)),

    async get(id) {
      return table.one("where id = ?", id);
    },

    async ofDeployment(deploymentId) {
      return table.one("where deployment_id = ? order by seq desc limit 1", deploymentId);
    },

    async list({ environmentId, states, before, limit }) {
      return table.all(
        `where environment_id = ?1 and (?2 is null or state in (select value from json_each(?2)))
           and (?3 is null or seq < (select seq from approval where id = ?3)) order by seq desc limit ?4`,
        environmentId,
        states ? JSON.stringify(states) : null,
        before ?? null,
        limit,
      );
    },

    async overdue(now) {
      return table.all("where state = 'pending' and expires_at <= ? order by seq", now);
    },

    decide: (id, decision, job) =>
      writer.write(() => {
        const decided = end(db, id, decision);
        if (decided && job) insertJob(job);
        return decided;
      }),

    settle: (id, { at, error }) =>
      writer.write(() => {
        const change = error === "" ? { appliedAt: at } : { state: "failed" as const, error };
        table.update({ ...change, payload: "" }, "where id = $key and state = 'approved' and applied_at is null", { key: id });
      }),

    async sealed() {
      return table.all("where payload <> '' order by seq");
    },

    reseal: (id, before, after) =>
      writer.write(() => void table.update({ payload: after }, "where id = $key and payload = $known", { key: id, known: before })),

    purge: (before) => writer.write(() => db.query("delete from approval where state <> 'pending' and decided_at < ?").run(before).changes),
  };
}
