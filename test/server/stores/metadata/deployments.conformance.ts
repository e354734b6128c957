/** What every metadata store must do: deployments. */

import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import { DiagnosticSchema, Severity } from "../../../../gen/svc/v1/error_pb.ts";
import type { NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { deploymentRecord, NOW, openEach } from "./records.ts";

/** Runs the suite against a driver. */
export function deploymentsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, deployments: ${driver.name}`, () => {
    const on = openEach(driver);

    test("a deployment comes back as it went in, and changes only what was asked", async () => {
      await on.bootstrap();
      const deployment = deploymentRecord("dpl_1", "env_1");
      await on.createDeployment(deployment);
      await on.reopen();
      expect(await on.store.deployment("dpl_1")).toEqual(deployment);
      const diagnostics = [
        create(DiagnosticSchema, {
          code: 153,
          severity: Severity.ERROR,
          message: "no",
          span: { file: "a.py", line: 3, column: 1, endLine: 3, endColumn: 9 },
        }),
      ];
      const failed = await on.store.updateDeployment("dpl_1", { status: DeploymentStatus.FAILED, error: "no", diagnostics }, NOW + 7);
      expect(failed).toEqual({ ...deployment, status: DeploymentStatus.FAILED, error: "no", diagnostics, updatedAt: NOW + 7 });
      expect(await on.store.deployment("dpl_1")).toEqual(failed);
      await expect(on.store.updateDeployment("dpl_9", {}, NOW)).rejects.toThrow("dpl_9");
    });

    test("promotion moves the live pointer of one scope in one step", async () => {
      await on.bootstrap();
      for (const [id, branch] of [
        ["dpl_1", ""],
        ["dpl_2", ""],
        ["dpl_3", "b"],
      ] as const)
        await on.createDeployment(deploymentRecord(id, "env_1", { branch }));
      expect(await on.store.livePointers()).toEqual([]);
      expect(await on.store.promote("dpl_1", NOW + 1)).toBeUndefined();
      expect(await on.store.promote("dpl_3", NOW + 1)).toBeUndefined();
      expect(await on.store.promote("dpl_2", NOW + 2)).toBe("dpl_1");
      expect(await on.store.promote("dpl_2", NOW + 3)).toBeUndefined();
      await on.reopen();
      expect(await on.store.livePointers()).toEqual([
        { environmentId: "env_1", branch: "", deploymentId: "dpl_2", previousId: "dpl_1" },
        { environmentId: "env_1", branch: "b", deploymentId: "dpl_3", previousId: undefined },
      ]);
      const states = await Promise.all(["dpl_1", "dpl_2", "dpl_3"].map((id) => on.store.deployment(id)));
      expect(states.map((one) => [one?.status, one?.promoted])).toEqual([
        [DeploymentStatus.INACTIVE, true],
        [DeploymentStatus.LIVE, true],
        [DeploymentStatus.LIVE, true],
      ]);
      await expect(on.store.promote("dpl_9", NOW)).rejects.toThrow("dpl_9");
    });

    test("lists deployments newest first, in pages, of a branch or of all", async () => {
      await on.bootstrap();
      for (let n = 1; n <= 5; n++)
        await on.createDeployment(deploymentRecord(`dpl_${n}`, "env_1", { branch: n === 3 ? "b" : "", createdAt: NOW - n }));
      const ids = async (filter: Parameters<MetadataStore["deployments"]>[0]) => (await on.store.deployments(filter)).map(({ id }) => id);
      expect(await ids({ environmentId: "env_1", branch: "", limit: 2 })).toEqual(["dpl_5", "dpl_4"]);
      expect(await ids({ environmentId: "env_1", branch: "", limit: 2, before: "dpl_4" })).toEqual(["dpl_2", "dpl_1"]);
      expect(await ids({ environmentId: "env_1", branch: "b", limit: 9 })).toEqual(["dpl_3"]);
      expect(await ids({ environmentId: "env_1", limit: 9 })).toEqual(["dpl_5", "dpl_4", "dpl_3", "dpl_2", "dpl_1"]);
      expect(await ids({ environmentId: "env_x", limit: 9 })).toEqual([]);
    });

    test("lists those of a tag, and those in some states", async () => {
      await on.bootstrap();
      const { LIVE, FAILED, INACTIVE } = DeploymentStatus;
      for (const [n, tags, status] of [
        [1, ["v1", "blue"], INACTIVE],
        [2, ["v2"], LIVE],
        [3, ["blue", "v1"], FAILED],
      ] as const)
        await on.createDeployment(deploymentRecord(`dpl_${n}`, "env_1", { tags, status }));
      const ids = async (filter: Partial<Parameters<MetadataStore["deployments"]>[0]>) =>
        (await on.store.deployments({ environmentId: "env_1", limit: 9, ...filter })).map(({ id }) => id);
      expect(await ids({ tags: ["blue"] })).toEqual(["dpl_3", "dpl_1"]);
      expect(await ids({ tags: ["blue"], limit: 1 })).toEqual(["dpl_3"]);
      expect(await ids({ tags: ["blue"], statuses: [LIVE, INACTIVE] })).toEqual(["dpl_1"]);
      expect(await ids({ statuses: [LIVE, INACTIVE] })).toEqual(["dpl_2", "dpl_1"]);
      expect(await ids({ tags: ["v1", "blue"] })).toEqual(["dpl_3", "dpl_1"]);
      expect(await ids({ tags: [] })).toEqual(["dpl_3", "dpl_2", "dpl_1"]);
      expect(await ids({ statuses: [] })).toEqual([]);
      expect(await ids({ tags: ["nothing", "blue"] })).toEqual([]);
    });

    test("a deletion takes what belongs to the deployments, leaves its job, and spares what is live or under way", async () => {
      await on.bootstrap();
      const jobs = async () =>
        (await on.store.jobs.claim({ node: "n", kinds: ["cleanup"], limit: 9, leaseMs: 1_000 })).map(({ job }) => job.id);
      const cleanup = (id: string): NewJob => ({ id, kind: "cleanup", payload: {}, maxAttempts: 1, attemptTimeoutMs: 1_000 });
      const status = DeploymentStatus.INACTIVE;
      for (const id of ["dpl_1", "dpl_2"]) await on.createDeployment(deploymentRecord(id, "env_1", { status, sourceSha256: id }));
      await on.createDeployment(deploymentRecord("dpl_3", "env_1"));
      await on.store.putGraph("dpl_1", new Uint8Array([1]));
      await on.store.promote("dpl_1", NOW);
      await on.store.promote("dpl_2", NOW);
      expect(await on.store.deleteDeployments({ ids: ["dpl_2"] }, cleanup("job_a"))).toEqual({ refused: "live", id: "dpl_2" });
      expect(await on.store.deleteDeployments({ ids: ["dpl_3"] }, cleanup("job_b"))).toEqual({ refused: "unfinished", id: "dpl_3" });
      expect(await on.store.deleteDeployments({ ids: ["dpl_1", "dpl_2"] }, cleanup("job_c"))).toEqual({ refused: "live", id: "dpl_2" });
      expect(await on.store.deleteDeployments({ ids: ["dpl_9"] }, cleanup("job_d"))).toEqual({ deleted: [] });
      expect(await jobs()).toEqual([]);
      expect((await on.store.livePointers())[0]?.previousId).toBe("dpl_1");
      expect(await on.store.isSourceUsed("dpl_1")).toBe(true);
      const outcome = await on.store.deleteDeployments({ ids: ["dpl_1"] }, cleanup("job_e"));
      expect("deleted" in outcome && outcome.deleted.map(({ id, tags }) => [id, tags])).toEqual([["dpl_1", ["b", "a", "a"]]]);
      await on.reopen();
      expect(await jobs()).toEqual(["job_e"]);
      expect([await on.store.deployment("dpl_1"), await on.store.graph("dpl_1")]).toEqual([undefined, undefined]);
      expect(await on.store.deployments({ environmentId: "env_1", tags: ["a"], limit: 9 })).toHaveLength(2);
      expect((await on.store.livePointers())[0]).toMatchObject({ deploymentId: "dpl_2", previousId: undefined });
      expect(await on.store.isSourceUsed("dpl_1")).toBe(false);
    });

    test("a source belongs to the environment that deployed it first", async () => {
      await on.bootstrap();
      await on.store.createEnvironment({ id: "env_2", name: "two", projectId: "prj_1", createdAt: NOW });
      for (const [id, environmentId, sourceSha256] of [
        ["dpl_1", "env_2", "a"],
        ["dpl_2", "env_1", "a"],
        ["dpl_3", "env_1", "b"],
        ["dpl_4", "env_2", "b"],
      ] as const)
        await on.createDeployment(deploymentRecord(id, environmentId, { sourceSha256 }));
      expect(Object.fromEntries(await on.store.bundleOwners())).toEqual({ a: "env_2", b: "env_1" });
    });

    test("a branch is deleted with what is live on it, and no other", async () => {
      await on.bootstrap();
      const status = DeploymentStatus.INACTIVE;
      for (const [id, branch] of [
        ["dpl_1", "b"],
        ["dpl_2", "b"],
        ["dpl_3", ""],
        ["dpl_4", "c"],
      ] as const)
        await on.createDeployment(deploymentRecord(id, "env_1", { status, branch }));
      for (const id of ["dpl_2", "dpl_3", "dpl_4"]) await on.store.promote(id, NOW);
      const job: NewJob = { id: "job_x", kind: "cleanup", payload: {}, maxAttempts: 1, attemptTimeoutMs: 1_000 };
      const outcome = await on.store.deleteDeployments({ environmentId: "env_1", branch: "b" }, job);
      expect("deleted" in outcome && outcome.deleted.map(({ id }) => id)).toEqual(["dpl_1", "dpl_2"]);
      expect((await on.store.livePointers()).map(({ deploymentId }) => deploymentId)).toEqual(["dpl_3", "dpl_4"]);
      expect((await on.store.branches("env_1")).map(({ name }) => name)).toEqual(["c"]);
      expect(await on.store.deleteDeployments({ environmentId: "env_2", branch: "c" }, { ...job, id: "job_y" })).toEqual({ deleted: [] });
    });

    test("finds what was acknowledged and did not end, oldest first", async () => {
      await on.bootstrap();
      const states = [
        DeploymentStatus.STARTING,
        DeploymentStatus.LIVE,
        DeploymentStatus.QUEUED,
        DeploymentStatus.FAILED,
        DeploymentStatus.BUILDING,
        DeploymentStatus.INACTIVE,
      ];
      for (const [index, status] of states.entries()) await on.createDeployment(deploymentRecord(`dpl_${index}`, "env_1", { status }));
      await on.reopen();
      expect((await on.store.unfinishedDeployments()).map(({ id }) => id)).toEqual(["dpl_0", "dpl_2", "dpl_4"]);
    });

    test("branches are counted from their deployments", async () => {
      await on.bootstrap();
      for (const [id, branch, createdAt] of [
        ["dpl_1", "z", NOW],
        ["dpl_2", "a", NOW + 1],
        ["dpl_3", "z", NOW + 2],
        ["dpl_4", "", NOW + 3],
      ] as const) {
        await on.createDeployment(deploymentRecord(id, "env_1", { branch, createdAt }));
      }
      expect(await on.store.branches("env_1")).toEqual([
        { name: "a", deploys: 1, lastDeployedAt: NOW + 1, latestDeploymentId: "dpl_2" },
        { name: "z", deploys: 2, lastDeployedAt: NOW + 2, latestDeploymentId: "dpl_3" },
      ]);
      expect(await on.store.branches("env_x")).toEqual([]);
    });
  });
}
