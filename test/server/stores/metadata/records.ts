/** Records for tests of the metadata store, and a store to put them in. */

import { afterEach, beforeEach } from "bun:test";
import { DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import type { AuditEntry } from "../../../../src/server/stores/metadata/audit.ts";
import type { DeploymentRecord } from "../../../../src/server/stores/metadata/deployments.ts";
import type { NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

/** When all of it happens. */
export const NOW = 1_700_000_000_000;

/** A store that every test of a suite has anew. */
export interface OpenedStore {
  readonly store: MetadataStore;
  /** Closes the store and opens it again. */
  reopen(): Promise<void>;
  /**
   * Creates a team, a project, an environment and a client, whose ids end in `_<tag>`; false when
   * the store has some.
   */
  bootstrap(tag?: string): Promise<boolean>;
  /** Keeps a deployment with the job that builds it. */
  createDeployment(deployment: DeploymentRecord): Promise<void>;
}

/** Opens a store before each test of the suite around, and closes it after. */
export function openEach(driver: Driver<MetadataStore>): OpenedStore {
  let folder: TempFolder;
  let store: MetadataStore;
  beforeEach(async () => {
    folder = new TempFolder();
    store = await driver.open(folder.path);
  });
  afterEach(async () => {
    await store.close();
    folder[Symbol.dispose]();
  });
  return {
    get store() {
      return store;
    },
    async reopen() {
      await store.close();
      store = await driver.open(folder.path);
    },
    bootstrap: (tag = "1") =>
      store.bootstrap({
        team: { id: `team_${tag}`, name: "team" },
        project: { id: `prj_${tag}`, name: "project" },
        environment: { id: `env_${tag}`, name: "default" },
        client: { id: `client_${tag}`, name: "first", secretHash: new Uint8Array([1, 2, 3]), permissions: ["read", "deploy"] },
        now: NOW,
      }),
    createDeployment: async (deployment) => void (await store.createDeployment(deployment, buildOf(deployment))),
  };
}

/** A deployment with everything set to something that can be told apart. */
export function deploymentRecord(id: string, environmentId: string, patch: Partial<DeploymentRecord> = {}): DeploymentRecord {
  return {
    id,
    environmentId,
    layers: [{ notebookId: "nb_1", path: "notebook_a.py", text: "x = 1\n" }],
    branch: "",
    status: DeploymentStatus.QUEUED,
    promoted: false,
    noPromote: false,
    reset: false,
    blueGreen: true,
    approved: false,
    profiling: true,
    projectName: "project",
    runtime: "python311",
    requirements: "requirements.txt",
    venvs: [{ name: "model-1", requirements: "requirements-model.txt", runtime: "" }],
    tags: ["b", "a", "a"],
    description: "**text**",
    metadata: { key: "value", __proto__x: "1" },
    ciJobUrl: "https://ci.example.com/1",
    repositoryUrl: "https://example.com/r",
    sourceSha256: "a".repeat(64),
    createdAt: NOW,
    updatedAt: NOW,
    error: "",
    diagnostics: [],
    ...patch,
  };
}

/** A job that builds a deployment. */
export function buildOf({ id }: DeploymentRecord): NewJob {
  return { id: `job_${id}`, kind: "deployment", payload: { deploymentId: id }, maxAttempts: 2, attemptTimeoutMs: 1_000 };
}

/** An entry of the audit log; `patch` says what differs. */
export function auditEntry(patch: Partial<AuditEntry> = {}): AuditEntry {
  return {
    at: NOW,
    teamId: "team_1",
    clientId: "client_1",
    clientName: "ü 'laptop'",
    sessionId: "ses_1",
    endpoint: "svc.v1.AuthService/DeleteClient",
    about: '{"id":"client_2"}',
    address: "127.0.0.1",
    environmentId: "env_1",
    code: "ok",
    count: 1,
    traceId: "0af7651916cd43dd8448eb211c80319c",
    ...patch,
  };
}
