/** Deployments, which of them is live in each scope, and the branches that they make. */

import type { DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import type { Diagnostic } from "../../../../gen/svc/v1/error_pb.ts";
import type { ApprovalRecord } from "./approvals.ts";
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
  /** Whether it is for the tag `blue` or `green`, whichever has no traffic. */
  readonly blueGreen: boolean;
  /** Whether a protected environment may run it: somebody approved it, or it ran before. */
  readonly approved: boolean;
  /** Whether its Python workers sample what they are doing. */
  readonly profiling: boolean;
  readonly projectName: string;
  readonly runtime: string;
  readonly requirements: string;
  /** Sets of requirements of some resolvers, beside those of all others. */
  readonly venvs: readonly VenvRecord[];
  readonly tags: readonly string[];
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly ciJobUrl: string;
  readonly repositoryUrl: string;
  readonly sourceSha256: string;
  /** Files that notebooks added to the source of a branch. */
  readonly layers: readonly LayerRecord[];
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly error: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** A set of requirements, by a name that is unique in a deployment. */
export interface VenvRecord {
  readonly name: string;
  /** File, relative to the source. */
  readonly requirements: string;
  /** Empty = that of the deployment. */
  readonly runtime: string;
}

/** A file that a notebook added to a source. */
export interface LayerRecord {
  readonly notebookId: string;
  /** Relative to the source. */
  readonly path: string;
  readonly text: string;
}

/**
 * A deployment as its author requests it, without the fields that the server sets. Layers are by
 * default those of what is live on its branch, none when it is reset.
 */
export type NewDeployment = Omit<
  DeploymentRecord,
  "id" | "status" | "promoted" | "approved" | "createdAt" | "updatedAt" | "error" | "diagnostics" | "layers"
> &
  Partial<Pick<DeploymentRecord, "layers">>;

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
  /** Only those with all of these tags. */
  readonly tags?: readonly string[];
  /** Only those in one of these states. */
  readonly statuses?: readonly DeploymentStatus[];
}

/** The live deployment of a scope. */
export interface LivePointer {
  readonly environmentId: string;
  readonly branch: string;
  readonly deploymentId: string;
  /** Deployment that was live before; undefined when none was, or it was deleted. */
  readonly previousId: string | undefined;
}

/** The outcome of a deletion: what was deleted, or the reason why nothing was. */
export type Deletion = { readonly deleted: readonly DeploymentRecord[] } | { readonly refused: "live" | "unfinished"; readonly id: string };

/** A branch, from its deployments. */
export interface BranchRecord {
  readonly name: string;
  readonly deploys: number;
  readonly lastDeployedAt: number;
  readonly latestDeploymentId: string;
}

/** Deployments. */
export interface DeploymentStore {
  /**
   * Stores a deployment, the job that builds it, and the request for its approval if it needs one,
   * in one step. Returns the requests that it replaced; `full`, and nothing is stored, when `limit`
   * requests of the environment are pending.
   */
  createDeployment(
    deployment: DeploymentRecord,
    build: NewJob,
    approval?: { readonly request: ApprovalRecord; readonly limit: number },
  ): Promise<readonly ApprovalRecord[] | "full">;
  deployment(id: string): Promise<DeploymentRecord | undefined>;
  deployments(filter: DeploymentFilter): Promise<DeploymentRecord[]>;
  /** Deployments that are queued, being built, starting or waiting, oldest first. */
  unfinishedDeployments(): Promise<DeploymentRecord[]>;
  /** Changes a deployment and returns its new state. Rejects when it is unknown. */
  updateDeployment(id: string, patch: DeploymentPatch, now: number): Promise<DeploymentRecord>;
  /**
   * Has a deployment wait for its approval, in state WAITING, when that is pending; else nothing is
   * changed, and `approved` or `not asked` is returned.
   */
  holdDeployment(id: string, now: number): Promise<"approved" | "waiting" | "not asked">;
  /** Marks deployments as approved. */
  approveDeployments(ids: readonly string[]): Promise<void>;
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
  /**
   * Deletes deployments of one scope with their graphs, and stores the job that removes what other
   * stores have of them, in one step. Ids that are unknown are passed over. Refused, with the first
   * id that is in the way, when one of them is queued, being built, starting or waiting, or is
   * live; with `branch`, all deployments of that branch are deleted, the live one too.
   */
  deleteDeployments(
    what: { readonly ids: readonly string[] } | { readonly environmentId: string; readonly branch: string },
    cleanup: NewJob,
  ): Promise<Deletion>;
  /** Whether a deployment has the source with this digest. */
  isSourceUsed(sourceSha256: string): Promise<boolean>;
  /** The environments that first deployed each source that is used, by the source's digest. */
  bundleOwners(): Promise<ReadonlyMap<string, string>>;
}
