/** What every metadata store must do. A backend's test calls this with a way to open it on a folder, again and again. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { DiagnosticSchema, Severity } from "../../../gen/svc/v1/error_pb.ts";
import type { NewJob } from "../../../src/server/stores/metadata/jobs.ts";
import type { DeploymentRecord, EntryRecord, MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { TempFolder } from "../running-server.ts";

const NOW = 1_700_000_000_000;

/** A deployment with everything set to something that can be told apart. */
export function deploymentRecord(id: string, environmentId: string, patch: Partial<DeploymentRecord> = {}): DeploymentRecord {
  return {
    id,
    environmentId,
    branch: "",
    status: DeploymentStatus.QUEUED,
    promoted: false,
    noPromote: false,
    reset: false,
    projectName: "project",
    runtime: "python311",
    requirements: "requirements.txt",
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

/** Runs the suite against a backend. */
export function metadataConformance(name: string, open: (folder: string) => MetadataStore): void {
  describe(`metadata store: ${name}`, () => {
    let folder: TempFolder;
    let store: MetadataStore;
    const reopen = async () => {
      await store.close();
      store = open(folder.path);
    };
    const bootstrap = (tag = "1") =>
      store.bootstrap({
        team: { id: `team_${tag}`, name: "team" },
        project: { id: `prj_${tag}`, name: "project" },
        environment: { id: `env_${tag}`, name: "default" },
        client: { id: `client_${tag}`, name: "first", secretHash: new Uint8Array([1, 2, 3]), permissions: ["read", "deploy"] },
        now: NOW,
      });

    const createDeployment = (deployment: DeploymentRecord) => store.createDeployment(deployment, buildOf(deployment));

    beforeEach(() => {
      folder = new TempFolder();
      store = open(folder.path);
    });
    afterEach(async () => {
      await store.close();
      folder[Symbol.dispose]();
    });

    test("bootstraps once, also when two ask at once", async () => {
      expect(await Promise.all([bootstrap("1"), bootstrap("2")])).toEqual([true, false]);
      await reopen();
      expect(await bootstrap("3")).toBe(false);
      expect(await store.environments()).toEqual([
        { id: "env_1", name: "default", projectId: "prj_1", projectName: "project", teamId: "team_1", createdAt: NOW },
      ]);
      expect(await store.client("client_1")).toEqual({
        id: "client_1",
        teamId: "team_1",
        name: "first",
        secretHash: new Uint8Array([1, 2, 3]),
        permissions: ["read", "deploy"],
        createdAt: NOW,
      });
      expect(await store.client("client_2")).toBeUndefined();
    });

    test("environments are listed by name, and a name is taken once", async () => {
      await bootstrap();
      await store.createEnvironment({ id: "env_b", name: "a-first", projectId: "prj_1", createdAt: NOW });
      await expect(store.createEnvironment({ id: "env_c", name: "default", projectId: "prj_1", createdAt: NOW })).rejects.toThrow();
      expect((await store.environments()).map(({ id }) => id)).toEqual(["env_b", "env_1"]);
    });

    test("a write that fails undoes itself and no other that came with it", async () => {
      await bootstrap();
      const results = await Promise.allSettled([
        store.createEnvironment({ id: "env_2", name: "two", projectId: "prj_1", createdAt: NOW }),
        store.createEnvironment({ id: "env_3", name: "two", projectId: "prj_1", createdAt: NOW }),
        store.createEnvironment({ id: "env_4", name: "four", projectId: "prj_1", createdAt: NOW }),
      ]);
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      await reopen();
      expect((await store.environments()).map(({ id }) => id)).toEqual(["env_1", "env_4", "env_2"]);
    });

    test("login sessions go from pending to confirmed to taken, once each", async () => {
      await bootstrap();
      const session = {
        id: "login_1",
        secretHash: new Uint8Array([9]),
        deviceName: "laptop",
        address: "192.0.2.1",
        userCode: "BCDF-GHJK",
        state: "pending" as const,
        permissions: [],
        createdAt: NOW,
        expiresAt: NOW + 1000,
      };
      const client = {
        id: "client_new",
        teamId: "team_1",
        name: "laptop",
        secretHash: new Uint8Array([5]),
        permissions: ["read"],
        createdAt: NOW,
      };
      await store.createLoginSession(session);
      expect(await store.loginSession("login_1")).toEqual(session);
      expect(await store.takeLoginSession("login_1", client, NOW)).toBe(false);
      const confirmed = { state: "confirmed" as const, by: "client_1", permissions: ["read"] };
      const denied = { state: "denied" as const, by: "client_1", permissions: [] };
      expect(await store.decideLoginSession("login_1", confirmed, NOW + 1000)).toBe(false);
      expect(
        await Promise.all([store.decideLoginSession("login_1", confirmed, NOW), store.decideLoginSession("login_1", denied, NOW)]),
      ).toEqual([true, false]);
      expect((await store.loginSession("login_1"))?.permissions).toEqual(["read"]);
      expect(await store.takeLoginSession("login_1", client, NOW + 1000)).toBe(false);
      expect(await store.client("client_new")).toBeUndefined();
      const other = { ...client, id: "client_other" };
      expect(await Promise.all([store.takeLoginSession("login_1", client, NOW), store.takeLoginSession("login_1", other, NOW)])).toEqual([
        true,
        false,
      ]);
      expect(await store.client("client_new")).toEqual(client);
      expect(await store.client("client_other")).toBeUndefined();
      expect((await store.loginSession("login_1"))?.state).toBe("taken");
      expect(await store.decideLoginSession("login_9", denied, NOW)).toBe(false);
    });

    const entry = (n: number, patch: Partial<EntryRecord> = {}): EntryRecord => ({
      codeHash: new Uint8Array([1, n]),
      clientId: "client_1",
      permissions: ["read"],
      path: "/a?b#c",
      createdAt: NOW + n,
      expiresAt: NOW + 1000,
      ...patch,
    });
    const session = (n: number, patch: object = {}) => ({
      id: `ses_${n}`,
      cookieHash: new Uint8Array([2, n]),
      keyHash: new Uint8Array([3, n]),
      userAgent: "browser",
      createdAt: NOW,
      lastUsedAt: NOW + n,
      expiresAt: NOW + 5000,
      ...patch,
    });

    test("login sessions that wait are counted, by address and in all, until they are decided or end", async () => {
      const waiting = { secretHash: new Uint8Array([9]), deviceName: "d", userCode: "", state: "pending" as const, permissions: [] };
      for (const [id, address] of [
        ["login_1", "a"],
        ["login_2", "a"],
        ["login_3", "b"],
      ] as const)
        await store.createLoginSession({ ...waiting, id, address, createdAt: NOW, expiresAt: NOW + 1000 });
      expect(await store.pendingLoginSessions("a", NOW)).toEqual({ ofAddress: 2, all: 3 });
      await store.decideLoginSession("login_1", { state: "denied", by: "", permissions: [] }, NOW);
      expect(await store.pendingLoginSessions("a", NOW)).toEqual({ ofAddress: 1, all: 2 });
      expect(await store.pendingLoginSessions("a", NOW + 1000)).toEqual({ ofAddress: 0, all: 0 });
    });

    test("an entry is redeemed once, in time, and the session has what the entry gives", async () => {
      await store.createEntry(entry(1), 10);
      await store.createEntry(entry(2, { expiresAt: NOW + 10 }), 10);
      expect(await store.redeemEntry(new Uint8Array([1, 9]), session(9), 10)).toBeUndefined();
      expect(await store.redeemEntry(new Uint8Array([1, 2]), session(2, { createdAt: NOW + 10 }), 10)).toBeUndefined();
      const both = await Promise.all([1, 8].map((n) => store.redeemEntry(new Uint8Array([1, 1]), session(n), 10)));
      expect(both).toEqual([entry(1), undefined]);
      await reopen();
      const opened = { ...session(1), clientId: "client_1", permissions: ["read"] };
      expect(await store.browserSession(new Uint8Array([2, 1]))).toEqual(opened);
      expect(await store.browserSession(new Uint8Array([2, 8]))).toBeUndefined();
      await store.touchBrowserSession("ses_1", { lastUsedAt: NOW + 50, expiresAt: NOW + 6000 });
      expect(await store.browserSessions(NOW + 5500)).toEqual([{ ...opened, lastUsedAt: NOW + 50, expiresAt: NOW + 6000 }]);
      expect(await store.browserSessions(NOW + 6000)).toEqual([]);
      expect(await store.browserSessions(NOW, "client_2")).toEqual([]);
      await store.deleteBrowserSessions(["ses_1", "ses_none"]);
      expect(await store.browserSession(new Uint8Array([2, 1]))).toBeUndefined();
    });

    test("of a client's entries and sessions the newest stay", async () => {
      for (const n of [1, 2, 3]) await store.createEntry(entry(n), 2);
      await store.createEntry(entry(7, { clientId: "client_2" }), 2);
      expect(await store.redeemEntry(new Uint8Array([1, 1]), session(1), 2)).toBeUndefined();
      expect(await store.redeemEntry(new Uint8Array([1, 2]), session(2), 2)).toBeDefined();
      expect(await store.redeemEntry(new Uint8Array([1, 7]), session(7), 2)).toBeDefined();
      for (const n of [3, 4]) {
        if (n === 4) await store.createEntry(entry(n), 2);
        expect(await store.redeemEntry(new Uint8Array([1, n]), session(n), 2)).toBeDefined();
      }
      expect((await store.browserSessions(NOW)).map(({ id }) => id)).toEqual(["ses_7", "ses_4", "ses_3"]);
    });

    test("a client goes with its entries, its browser sessions and the logins that it confirmed", async () => {
      await bootstrap();
      const other = {
        id: "client_2",
        teamId: "team_1",
        name: "other",
        secretHash: new Uint8Array([7]),
        permissions: [],
        createdAt: NOW + 1,
      };
      await store.createClient(other);
      await store.touchClient("client_2", NOW + 9);
      expect((await store.clients("team_1")).map(({ id, lastUsedAt }) => [id, lastUsedAt])).toEqual([
        ["client_1", undefined],
        ["client_2", NOW + 9],
      ]);
      expect(await store.clients("team_9")).toEqual([]);
      for (const n of [1, 2]) {
        await store.createEntry(entry(n), 10);
        if (n === 1) await store.redeemEntry(new Uint8Array([1, n]), session(n), 10);
      }
      const waiting = {
        secretHash: new Uint8Array([9]),
        deviceName: "d",
        address: "",
        userCode: "",
        permissions: [],
        state: "pending" as const,
      };
      await store.createLoginSession({ ...waiting, id: "login_1", createdAt: NOW, expiresAt: NOW + 1000 });
      await store.decideLoginSession("login_1", { state: "confirmed", by: "client_1", permissions: ["read"] }, NOW);
      expect(await Promise.all([store.deleteClient("client_1"), store.deleteClient("client_1")])).toEqual([1, undefined]);
      await reopen();
      expect(await store.client("client_1")).toBeUndefined();
      expect(await store.browserSessions(NOW)).toEqual([]);
      expect(await store.redeemEntry(new Uint8Array([1, 2]), session(2), 10)).toBeUndefined();
      expect((await store.loginSession("login_1"))?.state).toBe("denied");
      expect((await store.client("client_2"))?.name).toBe("other");
    });

    test("uploads are remembered", async () => {
      const upload = { id: "upl_1", sha256: "a".repeat(64), sizeBytes: 2 ** 40, createdAt: NOW, expiresAt: NOW + 5 };
      await store.createUpload(upload);
      expect(await store.upload("upl_1")).toEqual(upload);
      expect(await store.upload("upl_2")).toBeUndefined();
    });

    test("a deployment comes back as it went in, and changes only what was asked", async () => {
      await bootstrap();
      const deployment = deploymentRecord("dpl_1", "env_1");
      await createDeployment(deployment);
      await reopen();
      expect(await store.deployment("dpl_1")).toEqual(deployment);
      const diagnostics = [
        create(DiagnosticSchema, {
          code: 153,
          severity: Severity.ERROR,
          message: "no",
          span: { file: "a.py", line: 3, column: 1, endLine: 3, endColumn: 9 },
        }),
      ];
      const failed = await store.updateDeployment("dpl_1", { status: DeploymentStatus.FAILED, error: "no", diagnostics }, NOW + 7);
      expect(failed).toEqual({ ...deployment, status: DeploymentStatus.FAILED, error: "no", diagnostics, updatedAt: NOW + 7 });
      expect(await store.deployment("dpl_1")).toEqual(failed);
      await expect(store.updateDeployment("dpl_9", {}, NOW)).rejects.toThrow("dpl_9");
    });

    test("promotion moves the live pointer of one scope in one step", async () => {
      await bootstrap();
      for (const [id, branch] of [
        ["dpl_1", ""],
        ["dpl_2", ""],
        ["dpl_3", "b"],
      ] as const)
        await createDeployment(deploymentRecord(id, "env_1", { branch }));
      expect(await store.livePointers()).toEqual([]);
      expect(await store.promote("dpl_1", NOW + 1)).toBeUndefined();
      expect(await store.promote("dpl_3", NOW + 1)).toBeUndefined();
      expect(await store.promote("dpl_2", NOW + 2)).toBe("dpl_1");
      expect(await store.promote("dpl_2", NOW + 3)).toBeUndefined();
      await reopen();
      expect(await store.livePointers()).toEqual([
        { environmentId: "env_1", branch: "", deploymentId: "dpl_2" },
        { environmentId: "env_1", branch: "b", deploymentId: "dpl_3" },
      ]);
      const states = await Promise.all(["dpl_1", "dpl_2", "dpl_3"].map((id) => store.deployment(id)));
      expect(states.map((one) => [one?.status, one?.promoted])).toEqual([
        [DeploymentStatus.INACTIVE, true],
        [DeploymentStatus.LIVE, true],
        [DeploymentStatus.LIVE, true],
      ]);
      await expect(store.promote("dpl_9", NOW)).rejects.toThrow("dpl_9");
    });

    test("lists deployments newest first, in pages, of a branch or of all", async () => {
      await bootstrap();
      for (let n = 1; n <= 5; n++)
        await createDeployment(deploymentRecord(`dpl_${n}`, "env_1", { branch: n === 3 ? "b" : "", createdAt: NOW - n }));
      const ids = async (filter: Parameters<MetadataStore["deployments"]>[0]) => (await store.deployments(filter)).map(({ id }) => id);
      expect(await ids({ environmentId: "env_1", branch: "", limit: 2 })).toEqual(["dpl_5", "dpl_4"]);
      expect(await ids({ environmentId: "env_1", branch: "", limit: 2, before: "dpl_4" })).toEqual(["dpl_2", "dpl_1"]);
      expect(await ids({ environmentId: "env_1", branch: "b", limit: 9 })).toEqual(["dpl_3"]);
      expect(await ids({ environmentId: "env_1", limit: 9 })).toEqual(["dpl_5", "dpl_4", "dpl_3", "dpl_2", "dpl_1"]);
      expect(await ids({ environmentId: "env_x", limit: 9 })).toEqual([]);
    });

    test("finds what was acknowledged and did not end, oldest first", async () => {
      await bootstrap();
      const states = [
        DeploymentStatus.STARTING,
        DeploymentStatus.LIVE,
        DeploymentStatus.QUEUED,
        DeploymentStatus.FAILED,
        DeploymentStatus.BUILDING,
        DeploymentStatus.INACTIVE,
      ];
      for (const [index, status] of states.entries()) await createDeployment(deploymentRecord(`dpl_${index}`, "env_1", { status }));
      await reopen();
      expect((await store.unfinishedDeployments()).map(({ id }) => id)).toEqual(["dpl_0", "dpl_2", "dpl_4"]);
    });

    test("branches are counted from their deployments", async () => {
      await bootstrap();
      for (const [id, branch, createdAt] of [
        ["dpl_1", "z", NOW],
        ["dpl_2", "a", NOW + 1],
        ["dpl_3", "z", NOW + 2],
        ["dpl_4", "", NOW + 3],
      ] as const) {
        await createDeployment(deploymentRecord(id, "env_1", { branch, createdAt }));
      }
      expect(await store.branches("env_1")).toEqual([
        { name: "a", deploys: 1, lastDeployedAt: NOW + 1, latestDeploymentId: "dpl_2" },
        { name: "z", deploys: 2, lastDeployedAt: NOW + 2, latestDeploymentId: "dpl_3" },
      ]);
      expect(await store.branches("env_x")).toEqual([]);
    });

    test("keeps graphs byte for byte", async () => {
      await bootstrap();
      await createDeployment(deploymentRecord("dpl_1", "env_1"));
      expect(await store.graph("dpl_1")).toBeUndefined();
      const bytes = crypto.getRandomValues(new Uint8Array(50_000));
      await store.putGraph("dpl_1", new Uint8Array([1]));
      await store.putGraph("dpl_1", bytes);
      await reopen();
      expect(await store.graph("dpl_1")).toEqual(bytes);
    });

    test("a feature has one id per type and environment, for ever", async () => {
      await bootstrap();
      await store.createEnvironment({ id: "env_2", name: "two", projectId: "prj_1", createdAt: NOW });
      const ask = async (environmentId: string, dtype: string) =>
        (await store.featureIdentities(environmentId, [{ fqn: "user.id", dtype }], NOW)).get("user.id");
      const [asInt, again] = await Promise.all([ask("env_1", "int"), ask("env_1", "int")]);
      expect(again).toEqual(asInt);
      expect(asInt?.internalVersion).toBe(1);
      const asText = await ask("env_1", "str");
      expect(asText?.internalVersion).toBe(2);
      expect(asText?.id).not.toBe(asInt?.id);
      const elsewhere = await ask("env_2", "int");
      expect(elsewhere?.internalVersion).toBe(1);
      expect([asInt?.id, asText?.id]).not.toContain(elsewhere?.id);
      await reopen();
      expect(await ask("env_1", "int")).toEqual(asInt);
      const many = await store.featureIdentities(
        "env_1",
        Array.from({ length: 500 }, (_, n) => ({ fqn: `user.f${n}`, dtype: "int" })),
        NOW,
      );
      expect(new Set([...many.values()].map(({ id }) => id)).size).toBe(500);
    });

    test("a resolver's version counts the distinct sources that were recorded", async () => {
      await bootstrap();
      const ask = async (sourceSha256: string, record?: { deploymentId: string; now: number }) =>
        (await store.resolverVersions("env_1", [{ fqn: "m.f", sourceSha256 }], record)).get("m.f");
      const record = { deploymentId: "dpl_1", now: NOW };
      expect(await ask("a")).toBe(1);
      expect(await ask("b")).toBe(1);
      expect(await ask("a", record)).toBe(1);
      expect(await ask("b")).toBe(2);
      expect(await ask("b", record)).toBe(2);
      expect(await ask("a", record)).toBe(1);
      await reopen();
      expect(await ask("c")).toBe(3);
      expect(await ask("b")).toBe(2);
    });

    test("probes itself, also when several ask at once", async () => {
      await store.probe();
      const first = store.probe();
      const asked = Date.now();
      while (Date.now() < asked + 2);
      await Promise.all([first, store.probe()]);
    });
  });
}
