/** Requests for approval: changes of protected environments that wait for another person. */

import type { NewJob } from "./jobs.ts";

/**
 * The state of a request. All but `pending` are final; `approved` may become `failed` when the
 * change cannot be made.
 */
export type ApprovalState = "pending" | "approved" | "rejected" | "withdrawn" | "expired" | "failed";

/** A request for approval. */
export interface ApprovalRecord {
  readonly id: string;
  readonly environmentId: string;
  /** The kind of change, for example `secret.set`. */
  readonly kind: string;
  /** Names of what would change, for people. */
  readonly names: readonly string[];
  /** The deployment that waits for it; empty = it is about no deployment. */
  readonly deploymentId: string;
  /**
   * A pending request of the environment with the same text is withdrawn when this one is made;
   * empty = none is.
   */
  readonly replaces: string;
  /** What is to be done, sealed; empty once it is decided and done, and for a deployment. */
  readonly payload: string;
  readonly state: ApprovalState;
  /** Id of the client that asked. */
  readonly clientId: string;
  /** Whom that client acts for, see `personOf`. */
  readonly personId: string;
  /** Name of that client. */
  readonly requestedBy: string;
  readonly createdAt: number;
  /** From when on nobody can approve it. */
  readonly expiresAt: number;
  /** Id of the client that decided; empty = nobody did. */
  readonly decidedById: string;
  /** Name of that client. */
  readonly decidedBy: string;
  readonly decidedAt: number | undefined;
  /** Why it was decided so; empty = not said. */
  readonly reason: string;
  /** When the approved change was made; undefined = not yet, or never. */
  readonly appliedAt: number | undefined;
  /** Why it failed; empty = it did not. */
  readonly error: string;
}

/** The end of a pending request. */
export interface Decision {
  readonly state: Exclude<ApprovalState, "pending">;
  readonly decidedById: string;
  readonly decidedBy: string;
  readonly reason: string;
  readonly error?: string;
  readonly at: number;
  /** Error of the deployment that waits, which fails unless the request is approved. */
  readonly deploymentError: string;
}

/** A selection of requests; they are listed newest first. */
export interface ApprovalFilter {
  readonly environmentId: string;
  /** Default: all. */
  readonly states?: readonly ApprovalState[];
  /** Only those made before this one. */
  readonly before?: string;
  readonly limit: number;
}

/** Requests for approval. Every method is one atomic step. */
export interface ApprovalStore {
  /**
   * Stores a new request, and returns those that it replaced. Returns `full`, and changes nothing,
   * when `limit` requests of the environment are pending.
   */
  create(approval: ApprovalRecord, limit: number): Promise<readonly ApprovalRecord[] | "full">;
  get(id: string): Promise<ApprovalRecord | undefined>;
  /** The newest request about a deployment. */
  ofDeployment(deploymentId: string): Promise<ApprovalRecord | undefined>;
  list(filter: ApprovalFilter): Promise<ApprovalRecord[]>;
  /** Pending requests of all environments whose time was over then, oldest first. */
  overdue(now: number): Promise<ApprovalRecord[]>;
  /**
   * Decides a pending request, and returns it; undefined, and nothing is changed, when it is not
   * pending, or is to be approved and was over. When it is approved, its deployment counts as
   * approved and the job is stored in the same step; else the deployment fails if it waits.
   */
  decide(id: string, decision: Decision, job?: NewJob): Promise<ApprovalRecord | undefined>;
  /** Notes that an approved change was made, or why it was not; its payload is forgotten. */
  settle(id: string, outcome: { readonly at: number; readonly error: string }): Promise<void>;
  /** Requests with a payload that is still needed. */
  sealed(): Promise<ApprovalRecord[]>;
  /** Replaces a payload by another form of the same, unless it changed meanwhile. */
  reseal(id: string, before: string, after: string): Promise<void>;
  /** Removes requests that were decided before a time; returns their number. */
  purge(before: number): Promise<number>;
}
