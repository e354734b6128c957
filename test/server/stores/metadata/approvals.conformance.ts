/** What the requests for approval of every metadata store must do. */

import { describe, expect, test } from "bun:test";
import { DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import type { ApprovalRecord, Decision } from "../../../../src/server/stores/metadata/approvals.ts";
import type { NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { buildOf, deploymentRecord, NOW, openEach } from "./records.ts";

function record(id: string, patch: Partial<ApprovalRecord> = {}): ApprovalRecord {
  return {
    id,
    environmentId: "env_1",
    kind: "secret.set",
    names: ["ü", "a,b"],
    deploymentId: "",
    replaces: "",
    payload: `sealed ${id}`,
    state: "pending",
    clientId: "client_1",
    personId: "person",
    requestedBy: "ü 'laptop'",
    createdAt: NOW,
    expiresAt: NOW + 1_000,
    decidedById: "",
    decidedBy: "",
    decidedAt: undefined,
    reason: "",
    appliedAt: undefined,
    error: "",
    ...patch,
  };
}

const decision = (state: Decision["state"], patch: Partial<Decision> = {}): Decision => ({
  ...{ state, decidedById: "client_2", decidedBy: "bob", reason: "so", at: NOW + 5, deploymentError: "it was not approved" },
  ...patch,
});
const job = (id: string): NewJob => ({ id, kind: "k", payload: { id }, maxAttempts: 1, attemptTimeoutMs: 1 });

/** Runs the suite against a driver. */
export function approvalsConformance(driver: Driver<MetadataStore>): void {
  describe(`requests for approval: ${driver.name}`, () => {
    const on = openEach(driver);
    const create = (approval: ApprovalRecord, limit = 10) => on.store.approvals.create(approval, limit);
    const ids = async (filter: Partial<Parameters<MetadataStore["approvals"]["list"]>[0]> = {}) =>
      (await on.store.approvals.list({ environmentId: "env_1", limit: 10, ...filter })).map(({ id }) => id);

    test("one is kept with all that was said of it, also when the store is closed", async () => {
      const given = record("apr_1");
      expect(await create(given)).toEqual([]);
      await on.reopen();
      expect(await on.store.approvals.get("apr_1")).toEqual(given);
      expect(await on.store.approvals.get("apr_2")).toBeUndefined();
    });

    test("they are listed newest first, by environment and state, in pages", async () => {
      for (const id of ["apr_3", "apr_1", "apr_2"]) await create(record(id));
      await create(record("apr_4", { environmentId: "env_2" }));
      await on.store.approvals.decide("apr_1", decision("rejected"));
      expect(await ids()).toEqual(["apr_2", "apr_1", "apr_3"]);
      expect(await ids({ states: ["pending"] })).toEqual(["apr_2", "apr_3"]);
      expect(await ids({ states: ["rejected", "expired"] })).toEqual(["apr_1"]);
      expect(await ids({ before: "apr_2", limit: 1 })).toEqual(["apr_1"]);
    });

    test("as many as the limit are pending in an environment, and those that are replaced do not count", async () => {
      await create(record("apr_1", { replaces: "x" }), 2);
      await create(record("apr_2"), 2);
      expect(await create(record("apr_3"), 2)).toBe("full");
      expect(await create(record("apr_4", { environmentId: "env_2" }), 1)).toEqual([]);
      const replaced = await create(record("apr_5", { replaces: "x" }), 2);
      expect(replaced).toMatchObject([{ id: "apr_1" }]);
      expect(await on.store.approvals.get("apr_1")).toMatchObject({ state: "withdrawn", payload: "", decidedAt: NOW });
      expect(await ids({ states: ["pending"] })).toEqual(["apr_5", "apr_2"]);
    });

    test("one is decided once, with its job, however many decide at once", async () => {
      await create(record("apr_1"));
      const decided = await Promise.all([
        on.store.approvals.decide("apr_1", decision("approved"), job("job_1")),
        on.store.approvals.decide("apr_1", decision("approved"), job("job_2")),
        on.store.approvals.decide("apr_1", decision("rejected")),
      ]);
      expect(decided).toMatchObject([{ state: "approved", decidedBy: "bob", reason: "so", payload: "sealed apr_1" }, undefined, undefined]);
      expect([await on.store.jobs.job("job_1"), await on.store.jobs.job("job_2")]).toMatchObject([{ state: "queued" }, undefined]);
      await on.store.approvals.settle("apr_1", { at: NOW + 9, error: "" });
      await on.store.approvals.settle("apr_1", { at: NOW + 99, error: "too late" });
      expect(await on.store.approvals.get("apr_1")).toMatchObject({ state: "approved", appliedAt: NOW + 9, payload: "", error: "" });
      await create(record("apr_2"));
      await on.store.approvals.decide("apr_2", decision("approved"), job("job_3"));
      await on.store.approvals.settle("apr_2", { at: NOW + 9, error: "it changed" });
      expect(await on.store.approvals.get("apr_2")).toMatchObject({ state: "failed", appliedAt: undefined, error: "it changed" });
    });

    test("one whose time is over is not approved, and is found to be ended", async () => {
      await create(record("apr_1"));
      await create(record("apr_2", { expiresAt: NOW + 2_000 }));
      expect(await on.store.approvals.decide("apr_1", decision("approved", { at: NOW + 1_000 }), job("job_1"))).toBeUndefined();
      expect(await on.store.jobs.job("job_1")).toBeUndefined();
      expect((await on.store.approvals.overdue(NOW + 1_000)).map(({ id }) => id)).toEqual(["apr_1"]);
      await on.store.approvals.decide("apr_1", decision("expired", { at: NOW + 1_000 }));
      expect(await on.store.approvals.overdue(NOW + 1_000)).toEqual([]);
    });

    test("payloads are found, sealed anew unless they changed, and forgotten with the decision", async () => {
      for (const id of ["apr_1", "apr_2"]) await create(record(id));
      await on.store.approvals.reseal("apr_1", "another", "never");
      await on.store.approvals.reseal("apr_1", "sealed apr_1", "anew");
      await on.store.approvals.decide("apr_2", decision("withdrawn"));
      expect((await on.store.approvals.sealed()).map(({ id, payload }) => [id, payload])).toEqual([["apr_1", "anew"]]);
      expect(await on.store.approvals.purge(NOW + 6)).toBe(1);
      expect(await ids()).toEqual(["apr_1"]);
    });

    test("a deployment waits while its request is pending, is approved with it, and fails with its end", async () => {
      await on.bootstrap();
      const deploy = async (id: string, replaces = "", limit = 10) => {
        const deployment = deploymentRecord(id, "env_1");
        const request = record(`apr_${id}`, { deploymentId: id, kind: "deployment", payload: "", replaces });
        return on.store.createDeployment(deployment, buildOf(deployment), { request, limit });
      };
      const stateOf = async (id: string) => {
        const { approved, error, status } = (await on.store.deployment(id)) ?? {};
        return [approved, status, error];
      };
      const WAITS = [false, DeploymentStatus.WAITING, ""];
      const FAILED = [false, DeploymentStatus.FAILED, "it was not approved"];

      expect(await deploy("dpl_1")).toEqual([]);
      expect(await on.store.holdDeployment("dpl_1", NOW)).toBe("waiting");
      expect(await stateOf("dpl_1")).toEqual(WAITS);
      expect((await on.store.approvals.ofDeployment("dpl_1"))?.id).toBe("apr_dpl_1");
      expect(await on.store.deleteDeployments({ ids: ["dpl_1"] }, job("job_x"))).toEqual({ refused: "unfinished", id: "dpl_1" });
      await on.store.approvals.decide("apr_dpl_1", decision("approved"), job("job_1"));
      expect((await on.store.deployment("dpl_1"))?.approved).toBe(true);
      expect(await on.store.holdDeployment("dpl_1", NOW)).toBe("approved");

      await deploy("dpl_2");
      await on.store.holdDeployment("dpl_2", NOW);
      await on.store.approvals.decide("apr_dpl_2", decision("rejected"));
      expect(await stateOf("dpl_2")).toEqual(FAILED);
      expect(await on.store.holdDeployment("dpl_2", NOW)).toBe("not asked");

      await deploy("dpl_3", "deployment/");
      await on.store.holdDeployment("dpl_3", NOW);
      expect(await deploy("dpl_4", "deployment/")).toMatchObject([{ id: "apr_dpl_3" }]);
      expect((await stateOf("dpl_3"))[1]).toBe(DeploymentStatus.FAILED);

      expect(await deploy("dpl_5", "", 1)).toBe("full");
      expect(await on.store.deployment("dpl_5")).toBeUndefined();
      await on.store.approveDeployments(["dpl_4", "dpl_9"]);
      expect((await on.store.deployment("dpl_4"))?.approved).toBe(true);
    });
  });
}
