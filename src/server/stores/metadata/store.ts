/**
 * The metadata store: who may call, what was deployed, which ids features have. Every method is one atomic step; a write that was acknowledged
 * survives a power cut. Times are epoch milliseconds. The conformance suite in the tests runs against every backend.
 */

import type { DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import type { Diagnostic } from "../../../../gen/svc/v1/error_pb.ts";
import type { JobStore, NewJob } from "./jobs.ts";

/** An environment with the names around it. */
export interface EnvironmentRecord {
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  readonly projectName: string;
  readonly teamId: string;
  readonly createdAt: number;
}

/** Client credentials. The secret itself is nowhere. */
export interface ClientRecord {
  readonly id: string;
  readonly teamId: string;
  /** For people, for example the host that logged in. */
  readonly name: string;
  /** SHA-256 of the secret. */
  readonly secretHash: Uint8Array;
  /** Names of permissions, see `server/access/permissions.ts`. */
  readonly permissions: readonly string[];
  readonly createdAt: number;
  /** Undefined when it was never used. */
  readonly lastUsedAt?: number | undefined;
}

/** A one-time code that logs a browser in as a client. */
export interface EntryRecord {
  /** SHA-256 of the code. */
  readonly codeHash: Uint8Array;
  readonly clientId: string;
  /** What the session will be allowed. */
  readonly permissions: readonly string[];
  /** Page to go to. */
  readonly path: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** A browser that is logged in as a client. */
export interface BrowserSessionRecord {
  readonly id: string;
  readonly clientId: string;
  /** SHA-256 of the cookie. */
  readonly cookieHash: Uint8Array;
  /** SHA-256 of the page key. */
  readonly keyHash: Uint8Array;
  readonly permissions: readonly string[];
  /** As the browser named itself. */
  readonly userAgent: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly expiresAt: number;
}

/** Where a login session stands; `taken` = its credentials were given out. */
export type LoginSessionState = "pending" | "confirmed" | "denied" | "taken";

/** A login session. */
export interface LoginSessionRecord {
  readonly id: string;
  /** SHA-256 of the session's secret. */
  readonly secretHash: Uint8Array;
  readonly deviceName: string;
  /** Address that asked for it. */
  readonly address: string;
  /** Shown by the command line and on the page. */
  readonly userCode: string;
  readonly state: LoginSessionState;
  /** What its client will be allowed; empty until it is confirmed. */
  readonly permissions: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** What a person decided about a login session. */
export interface LoginDecision {
  readonly state: "confirmed" | "denied";
  /** Client of the person. */
  readonly by: string;
  /** What the new client is allowed; empty when denied. */
  readonly permissions: readonly string[];
}

/** An upload that was announced. */
export interface UploadRecord {
  readonly id: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly createdAt: number;
  readonly expiresAt: number;
}

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

/** What may change in a deployment. */
export type DeploymentPatch = Partial<Pick<DeploymentRecord, "status" | "error" | "diagnostics">>;

/** Which deployments to list, newest first. */
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

/** A feature's identity in the stores: one per FQN and type. */
export interface FeatureIdentity {
  readonly id: number;
  /** Counts the feature's types in this environment, from 1. */
  readonly internalVersion: number;
}

/** A feature whose identity is asked for. */
export interface FeatureKey {
  readonly fqn: string;
  /** Canonical text of its type. */
  readonly dtype: string;
}

/** A resolver whose version is asked for. */
export interface ResolverKey {
  readonly fqn: string;
  readonly sourceSha256: string;
}

/** What a first start creates. */
export interface Bootstrap {
  readonly team: { readonly id: string; readonly name: string };
  readonly project: { readonly id: string; readonly name: string };
  readonly environment: { readonly id: string; readonly name: string };
  readonly client: Omit<ClientRecord, "teamId" | "createdAt">;
  readonly now: number;
}

/** The store. */
export interface MetadataStore {
  /** Creates all of it when the store is empty; false when it is not. */
  bootstrap(first: Bootstrap): Promise<boolean>;
  /** All environments, by name. */
  environments(): EnvironmentRecord[] | Promise<EnvironmentRecord[]>;
  /** Adds an environment to a project. Rejects when the name is taken there. */
  createEnvironment(environment: {
    readonly id: string;
    readonly name: string;
    readonly projectId: string;
    readonly createdAt: number;
  }): Promise<void>;

  createClient(client: ClientRecord): Promise<void>;
  client(id: string): Promise<ClientRecord | undefined>;
  /** All clients of a team, oldest first. */
  clients(teamId: string): Promise<ClientRecord[]>;
  /** Notes that a client was used. */
  touchClient(id: string, lastUsedAt: number): Promise<void>;
  /**
   * Deletes a client with its entries and browser sessions, and denies login sessions that it confirmed and nobody took; gives the number of browser sessions
   * that ended. Undefined when there is no such client.
   */
  deleteClient(id: string): Promise<number | undefined>;

  /** Adds an entry. Those that ended are removed, and of the client's the oldest beyond `most`. */
  createEntry(entry: EntryRecord, most: number): Promise<void>;
  /**
   * Removes an entry and creates the session that it stands for, once; gives the entry. Sessions that ended are removed, and of the client's the longest unused
   * beyond `most`. Undefined when there is no such entry or it ended.
   */
  redeemEntry(
    codeHash: Uint8Array,
    session: Omit<BrowserSessionRecord, "clientId" | "permissions">,
    most: number,
  ): Promise<EntryRecord | undefined>;
  /** The session of a cookie, also one that ended. */
  browserSession(cookieHash: Uint8Array): Promise<BrowserSessionRecord | undefined>;
  /** Sessions that have not ended at `now`, of one client or of all; last used first. */
  browserSessions(now: number, clientId?: string): Promise<BrowserSessionRecord[]>;
  touchBrowserSession(id: string, times: Pick<BrowserSessionRecord, "lastUsedAt" | "expiresAt">): Promise<void>;
  /** Removes sessions. */
  deleteBrowserSessions(ids: readonly string[]): Promise<void>;

  createLoginSession(session: LoginSessionRecord): Promise<void>;
  loginSession(id: string): Promise<LoginSessionRecord | undefined>;
  /** How many sessions wait for their person at `now`: of an address, and of all. */
  pendingLoginSessions(address: string, now: number): Promise<{ readonly ofAddress: number; readonly all: number }>;
  /** Confirms or denies a session that is pending and has not expired; false when it is neither. */
  decideLoginSession(id: string, decision: LoginDecision, now: number): Promise<boolean>;
  /** Marks a confirmed session as taken and creates its client, once; false when it is not confirmed or has expired. */
  takeLoginSession(id: string, client: ClientRecord, now: number): Promise<boolean>;

  createUpload(upload: UploadRecord): Promise<void>;
  upload(id: string): Promise<UploadRecord | undefined>;

  /** Keeps a deployment and the job that builds it, in one step. */
  createDeployment(deployment: DeploymentRecord, build: NewJob): Promise<void>;
  deployment(id: string): Promise<DeploymentRecord | undefined>;
  deployments(filter: DeploymentFilter): Promise<DeploymentRecord[]>;
  /** Deployments that were acknowledged and reached no end, oldest first. */
  unfinishedDeployments(): Promise<DeploymentRecord[]>;
  /** Changes a deployment and gives it back as it then is. Rejects when it is unknown. */
  updateDeployment(id: string, patch: DeploymentPatch, now: number): Promise<DeploymentRecord>;
  /** Keeps the graph (binary protobuf) of a deployment. */
  putGraph(deploymentId: string, graph: Uint8Array): Promise<void>;
  graph(deploymentId: string): Promise<Uint8Array | undefined>;
  /**
   * Makes a deployment the live one of its scope: it becomes LIVE and promoted, the one before it INACTIVE, in one step. Gives the id of the
   * replaced one.
   */
  promote(deploymentId: string, now: number): Promise<string | undefined>;
  /** Live deployments of all scopes. */
  livePointers(): Promise<LivePointer[]>;
  /** Branches of an environment, by name. */
  branches(environmentId: string): Promise<BranchRecord[]>;

  /** Identities of features, new ones for those not seen with their type before. */
  featureIdentities(environmentId: string, features: readonly FeatureKey[], now: number): Promise<Map<string, FeatureIdentity>>;
  /**
   * Version numbers of resolvers: the place of their source among the distinct sources seen for the FQN in the environment. A source that was not seen
   * gets the next number; it is kept only with `record`.
   */
  resolverVersions(
    environmentId: string,
    resolvers: readonly ResolverKey[],
    record?: { readonly deploymentId: string; readonly now: number },
  ): Promise<Map<string, number>>;

  /** The queue of jobs. */
  readonly jobs: JobStore;

  /** Writes and reads a row. Rejects when that fails. */
  probe(): Promise<void>;
  /** Writes what waits and closes the files. */
  close(): Promise<void>;
}
