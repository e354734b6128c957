import type { Database } from "bun:sqlite";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { DeploymentSchema, DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import type { Diagnostic } from "../../../../gen/svc/v1/error_pb.ts";
import type { Writer } from "../sqlite/group-commit.ts";
import type { NewJob } from "./jobs.ts";
import type { BranchRecord, DeploymentRecord, LivePointer, MetadataStore } from "./store.ts";

interface DeploymentRow {
  seq: number;
  id: string;
  environment_id: string;
  branch: string;
  status: number;
  promoted: number;
  no_promote: number;
  reset: number;
  project_name: string;
  runtime: string;
  requirements: string;
  description: string;
  metadata: string;
  ci_job_url: string;
  repository_url: string;
  source_sha256: string;
  created_at: number;
  updated_at: number;
  error: string;
  diagnostics: Uint8Array;
}

/** The part of the store that this file is. */
export type DeploymentMethods = Pick<
  MetadataStore,
  "createDeployment" | "deployment" | "deployments" | "unfinishedDeployments" | "updateDeployment" | "promote" | "livePointers" | "branches"
>;

const UNFINISHED = [DeploymentStatus.QUEUED, DeploymentStatus.BUILDING, DeploymentStatus.STARTING].join(", ");

/** Deployments, live pointers and branches of the SQLite backend. */
export function deploymentQueries(db: Database, writer: Writer, insertJob: (job: NewJob) => void): DeploymentMethods {
  const recordOf = (row: DeploymentRow): DeploymentRecord => ({
    id: row.id,
    environmentId: row.environment_id,
    branch: row.branch,
    status: row.status,
    promoted: row.promoted === 1,
    noPromote: row.no_promote === 1,
    reset: row.reset === 1,
    projectName: row.project_name,
    runtime: row.runtime,
    requirements: row.requirements,
    tags: db
      .query<{ tag: string }, [string]>("select tag from deployment_tag where deployment_id = ? order by position")
      .all(row.id)
      .map(({ tag }) => tag),
    description: row.description,
    metadata: JSON.parse(row.metadata) as Record<string, string>,
    ciJobUrl: row.ci_job_url,
    repositoryUrl: row.repository_url,
    sourceSha256: row.source_sha256,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    error: row.error,
    diagnostics: decodeDiagnostics(row.diagnostics),
  });

  const find = (id: string): DeploymentRecord | undefined => {
    const row = db.query<DeploymentRow, [string]>("select * from deployment where id = ?").get(id);
    return row ? recordOf(row) : undefined;
  };

  return {
    createDeployment: (deployment, build) =>
      writer.write(() => {
        db.query(
          `insert into deployment (id, environment_id, branch, status, promoted, no_promote, reset, project_name, runtime, requirements, description,
             metadata, ci_job_url, repository_url, source_sha256, created_at, updated_at, error, diagnostics)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ).run(
          deployment.id,
          deployment.environmentId,
          deployment.branch,
          deployment.status,
          Number(deployment.promoted),
          Number(deployment.noPromote),
          Number(deployment.reset),
          deployment.projectName,
          deployment.runtime,
          deployment.requirements,
          deployment.description,
          JSON.stringify(deployment.metadata),
          deployment.ciJobUrl,
          deployment.repositoryUrl,
          deployment.sourceSha256,
          deployment.createdAt,
          deployment.updatedAt,
          deployment.error,
          encodeDiagnostics(deployment.diagnostics),
        );
        const insertTag = db.query("insert into deployment_tag (deployment_id, position, tag) values (?, ?, ?)");
        deployment.tags.forEach((tag, position) => {
          insertTag.run(deployment.id, position, tag);
        });
        insertJob(build);
      }),

    async deployment(id) {
      return find(id);
    },

    async deployments({ environmentId, branch, limit, before }) {
      const rows = db
        .query<DeploymentRow, [string, string | null, string | null, number]>(
          `select * from deployment where environment_id = ?1 and (?2 is null or branch = ?2)
             and (?3 is null or seq < (select seq from deployment where id = ?3)) order by seq desc limit ?4`,
        )
        .all(environmentId, branch ?? null, before ?? null, limit);
      return rows.map(recordOf);
    },

    async unfinishedDeployments() {
      return db.query<DeploymentRow, []>(`select * from deployment where status in (${UNFINISHED}) order by seq`).all().map(recordOf);
    },

    updateDeployment: (id, patch, now) =>
      writer.write(() => {
        const before = find(id);
        if (!before) throw new Error(`there is no deployment ${id}`);
        const after = { ...before, ...patch, updatedAt: now };
        db.query("update deployment set status = ?, error = ?, diagnostics = ?, updated_at = ? where id = ?").run(
          after.status,
          after.error,
          encodeDiagnostics(after.diagnostics),
          now,
          id,
        );
        return after;
      }),

    promote: (deploymentId, now) =>
      writer.write(() => {
        const deployment = find(deploymentId);
        if (!deployment) throw new Error(`there is no deployment ${deploymentId}`);
        const { environmentId, branch } = deployment;
        const replaced = db
          .query<{ deployment_id: string }, [string, string]>("select deployment_id from live where environment_id = ? and branch = ?")
          .get(environmentId, branch)?.deployment_id;
        const setStatus = db.query("update deployment set status = ?, promoted = promoted or ?, updated_at = ? where id = ?");
        if (replaced && replaced !== deploymentId) setStatus.run(DeploymentStatus.INACTIVE, 0, now, replaced);
        setStatus.run(DeploymentStatus.LIVE, 1, now, deploymentId);
        db.query(
          `insert into live (environment_id, branch, deployment_id) values (?1, ?2, ?3)
           on conflict (environment_id, branch) do update set deployment_id = ?3`,
        ).run(environmentId, branch, deploymentId);
        return replaced === deploymentId ? undefined : replaced;
      }),

    async livePointers() {
      return db
        .query<LivePointer, []>("select environment_id as environmentId, branch, deployment_id as deploymentId from live order by 1, 2")
        .all();
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
  };
}

function encodeDiagnostics(diagnostics: readonly Diagnostic[]): Uint8Array {
  return toBinary(DeploymentSchema, create(DeploymentSchema, { diagnostics: [...diagnostics] }));
}

function decodeDiagnostics(bytes: Uint8Array): Diagnostic[] {
  return bytes.length === 0 ? [] : fromBinary(DeploymentSchema, bytes).diagnostics;
}
