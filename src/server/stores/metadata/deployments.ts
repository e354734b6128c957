/** Deployments, which of them is live in each scope, and the branches that they make. */

import type { DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import type { Diagnostic } from "../../../../gen/svc/v1/error_pb.ts";
import type { NewJob } from "./jobs.ts";

/** A deployment without its graph. */
export interface DeploymentRecord {
  readonly id: string;
  readonly environmentId: string;
  /** Empty = the environment's own. */
  readonly branch: string;
  readonly status: DeploymentStatus;
  /** Whether it was made the live one of its scope. */
  readonly promoted: boolean;
  readonly noPromote: boolean;
  readonly reset: boolean;
  readonly projectName: string;
  readonly runtime: string;
  readonly requirements: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly ciJobUrl: string;
  readonly repositoryUrl: string;
  readonly sourceSha256: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly error: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** A deployment as its author requests it, without the fields that the server sets. */
export type NewDeployment = Omit<DeploymentRecord, "id" | "status" | "promoted" | "createdAt" | "updatedAt" | "error" | "diagnostics">;

/** The fields of a deployment that may change. */
export type DeploymentPatch = Partial<Pick<DeploymentRecord, "status" | "error" | "diagnostics">>;

/** A selection of deployments; they are listed newest first. */
export interface DeploymentFilter {
  readonly environmentId: string;
  /** Empty = the environment's own; undefined = all. */
  readonly branch?: string;
  readonly limit: number;
  /** Only those created before this deployment. */
  readonly before?: string;
}

/** The live deployment of a scope. */
export interface LivePointer {
  readonly environmentId: string;
  readonly branch: string;
  readonly deploymentId: string;
}

/** A branch, from its deployments. */
export interface BranchRecord {
  readonly name: string;
  readonly deploys: number;
  readonly lastDeployedAt: number;
  readonly latestDeploymentId: string;
}

/** Deployments. */
export interface DeploymentStore {
  /** Stores a deployment and the job that builds it, in one step. */
  createDeployment(deployment: DeploymentRecord, build: NewJob): Promise<void>;
  deployment(id: string): Promise<DeploymentRecord | undefined>;
  deployments(filter: DeploymentFilter): Promise<DeploymentRecord[]>;
  /** Deployments that are queued, being built or starting, oldest first. */
  unfinishedDeployments(): Promise<DeploymentRecord[]>;
  /** Changes a deployment and returns its new state. Rejects when it is unknown. */
  updateDeployment(id: string, patch: DeploymentPatch, now: number): Promise<DeploymentRecord>;
  /**
   * Makes a deployment the live one of its scope: it becomes LIVE and promoted, the previous one
   * INACTIVE, in one step. Returns the id of the previous one, undefined when there was none or it
   * was live already.
   */
  promote(deploymentId: string, now: number): Promise<string | undefined>;
  /** Live deployments of all scopes. */
  livePointers(): Promise<LivePointer[]>;
  /** Branches of an environment, by name. */
  branches(environmentId: string): Promise<BranchRecord[]>;
}
