/** What every metadata store must do: deployments. */

import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { DeploymentStatus } from "../../../../gen/svc/v1/deployment_pb.ts";
import { DiagnosticSchema, Severity } from "../../../../gen/svc/v1/error_pb.ts";
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
        { environmentId: "env_1", branch: "", deploymentId: "dpl_2" },
        { environmentId: "env_1", branch: "b", deploymentId: "dpl_3" },
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
