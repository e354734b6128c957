import type { Database } from "bun:sqlite";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { DeploymentSchema, DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import type { Diagnostic } from "../../../../gen/svc/v1/error_pb.ts";
import type { Writer } from "../sqlite/group-commit.ts";
import { type Column, flag, integer, json, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { BranchRecord, Deletion, DeploymentRecord, DeploymentStore, LivePointer } from "./deployments.ts";
import type { NewJob } from "./jobs.ts";
import { insertApproval } from "./sqlite-approvals.ts";

/**
 * Findings as the bytes of a Deployment message without other fields; no bytes when there are none.
 */
const diagnostics: Column<readonly Diagnostic[]> = {
  encode: (found) => toBinary(DeploymentSchema, create(DeploymentSchema, { diagnostics: [...found] })),
  decode: (stored) => fromBinary(DeploymentSchema, stored as Uint8Array).diagnostics,
};

const UNFINISHED_STATES = [DeploymentStatus.QUEUED, DeploymentStatus.BUILDING, DeploymentStatus.STARTING, DeploymentStatus.WAITING];
const UNFINISHED = UNFINISHED_STATES.join(", ");

/** Deployments, live pointers and branches of the SQLite driver. */
export function sqliteDeployments(db: Database, writer: Writer, insertJob: (job: NewJob) => void): DeploymentStore {
  /** All fields but the tags, which have a table of their own. */
  const table = createTable<Omit<DeploymentRecord, "tags">>(db, "deployment", {
    id: text,
    environmentId: text,
    branch: text,
    status: integer,
    promoted: flag,
    noPromote: flag,
    reset: flag,
    blueGreen: flag,
    approved: flag,
    profiling: flag,
    projectName: text,
    runtime: text,
    requirements: text,
    venvs: json(),
    layers: json(),
    description: text,
    metadata: json(),
    ciJobUrl: text,
    repositoryUrl: text,
    sourceSha256: text,
    createdAt: integer,
    updatedAt: integer,
    error: text,
    diagnostics,
  });

  const tagged = (deployment: Omit<DeploymentRecord, "tags">): DeploymentRecord => ({
    ...deployment,
    tags: db
      .query<{ tag: string }, [string]>("select tag from deployment_tag where deployment_id = ? order by position")
      .all(deployment.id)
      .map(({ tag }) => tag),
  });
  const find = (id: string): DeploymentRecord | undefined => {
    const found = table.one("where id = ?", id);
    return found && tagged(found);
  };
  /** Throws when the deployment is unknown. */
  const update = (id: string, patch: Partial<Omit<DeploymentRecord, "tags">>): DeploymentRecord => {
    table.update(patch, "where id = $key", { key: id });
    const updated = find(id);
    if (!updated) throw new Error(`there is no deployment ${id}`);
    return updated;
  };

  return {
    createDeployment: ({ tags, ...deployment }, build, approval) =>
      writer.write(() => {
        const replaced = approval ? insertApproval(db, approval.request, approval.limit) : [];
        if (replaced === "full") return replaced;
        table.insert(deployment);
        const insertTag = db.query("insert into deployment_tag (deployment_id, position, tag) values (?, ?, ?)");
        tags.forEach((tag, position) => {
          insertTag.run(deployment.id, position, tag);
        });
        insertJob(build);
        return replaced;
      }),

    async deployment(id) {
      return find(id);
    },

    async deployments({ environmentId, branch, limit, before, tags, statuses }) {
      return table
        .all(
          `where environment_id = ?1 and (?2 is null or branch = ?2)
             and (?3 is null or seq < (select seq from deployment where id = ?3))
             and (?5 is null or not exists
               (select value from json_each(?5) except select tag from deployment_tag where deployment_id = deployment.id))
             and (?6 is null or status in (select value from json_each(?6))) order by seq desc limit ?4`,
          environmentId,
          branch ?? null,
          before ?? null,
          limit,
          tags ? JSON.stringify(tags) : null,
          statuses ? JSON.stringify(statuses) : null,
        )
        .map(tagged);
    },

    async unfinishedDeployments() {
      return table.all(`where status in (${UNFINISHED}) order by seq`).map(tagged);
    },

    updateDeployment: (id, patch, now) => writer.write(() => update(id, { ...patch, updatedAt: now })),

    holdDeployment: (id, now) =>
      writer.write(() => {
        if (find(id)?.approved) return "approved";
        if (!db.query("select 1 from approval where deployment_id = ? and state = 'pending'").get(id)) return "not asked";
        update(id, { status: DeploymentStatus.WAITING, updatedAt: now });
        return "waiting";
      }),

    approveDeployments: (ids) =>
      writer.write(() => {
        for (const id of ids) table.update({ approved: true }, "where id = $key", { key: id });
      }),

    promote: (deploymentId, now) =>
      writer.write(() => {
        const { environmentId, branch } = update(deploymentId, { status: DeploymentStatus.LIVE, promoted: true, updatedAt: now });
        const before = db
          .query<{ id: string }, [string, string]>("select deployment_id as id from live where environment_id = ? and branch = ?")
          .get(environmentId, branch)?.id;
        if (before === deploymentId) return undefined;
        if (before !== undefined) update(before, { status: DeploymentStatus.INACTIVE, updatedAt: now });
        db.query(
          `insert into live (environment_id, branch, deployment_id) values (?1, ?2, ?3)
           on conflict (environment_id, branch) do update set previous_id = deployment_id, deployment_id = ?3`,
        ).run(environmentId, branch, deploymentId);
        return before;
      }),

    async livePointers() {
      return db
        .query<Omit<LivePointer, "previousId"> & { previousId: string | null }, []>(
          "select environment_id as environmentId, branch, deployment_id as deploymentId, previous_id as previousId from live order by 1, 2",
        )
        .all()
        .map((pointer) => ({ ...pointer, previousId: pointer.previousId ?? undefined }));
    },

    async branches(environmentId) {
      return db
        .query<BranchRecord, [string]>(
          `select branch as name, count(*) as deploys, max(created_at) as lastDeployedAt,
             (select id from deployment d where d.environment_id = ?1 and d.branch = b.branch order by seq desc limit 1) as latestDeploymentId
           from deployment b where environment_id = ?1 and branch <> '' group by branch order by branch`,
        )
        .all(environmentId);
    },

    deleteDeployments: (what, cleanup) =>
      writer.write((): Deletion => {
        const isBranch = "branch" in what;
        const found = isBranch
          ? table.all("where environment_id = ? and branch = ? order by seq", what.environmentId, what.branch)
          : what.ids.flatMap((id) => table.all("where id = ?", id));
        const records = found.map(tagged);
        const unfinished = records.find(({ status }) => UNFINISHED_STATES.includes(status));
        if (unfinished) return { refused: "unfinished", id: unfinished.id };
        const live = isBranch ? undefined : records.find(({ id }) => db.query("select 1 from live where deployment_id = ?").get(id));
        if (live) return { refused: "live", id: live.id };
        if (records.length === 0) return { deleted: [] };
        if (isBranch) db.query("delete from live where environment_id = ? and branch = ?").run(what.environmentId, what.branch);
        for (const { id } of records) {
          db.query("update live set previous_id = null where previous_id = ?").run(id);
          db.query("delete from deployment_tag where deployment_id = ?").run(id);
          db.query("delete from deployment_progress where deployment_id = ?").run(id);
          db.query("delete from graph where deployment_id = ?").run(id);
          table.remove("where id = ?", id);
        }
        insertJob(cleanup);
        return { deleted: records };
      }),

    async isSourceUsed(sourceSha256) {
      return table.one("where source_sha256 = ?", sourceSha256) !== undefined;
    },

    async bundleOwners() {
      const rows = db
        .query<{ sha256: string; environmentId: string }, []>(
          "select source_sha256 as sha256, environment_id as environmentId, min(seq) from deployment group by source_sha256",
        )
        .all();
      return new Map(rows.map(({ sha256, environmentId }) => [sha256, environmentId]));
    },
  };
}
