/** What every metadata store must do with projects and the life of their environments. */

import { describe, expect, test } from "bun:test";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { deploymentRecord, NOW, openEach } from "./records.ts";

const ERASURE = { id: "job_erase", kind: "erase", payload: {}, maxAttempts: 1, attemptTimeoutMs: 1 };

/** Runs the suite against a driver. */
export function projectsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, projects: ${driver.name}`, () => {
    const on = openEach(driver);
    const project = (id: string, name: string) => ({ id, teamId: "team_1", name, createdAt: NOW + 1 });
    const named = async () => (await on.store.projects("team_1")).map(({ name, environments }) => [name, ...environments]);

    test("are created whole, once, and listed by name with their environments by age", async () => {
      await on.bootstrap();
      const environments = [
        { id: "env_b", name: "b" },
        { id: "env_c", name: "a" },
      ];
      expect(await on.store.createProject(project("prj_2", "another"), environments)).toBe("created");
      expect(await on.store.createProject(project("prj_3", "another"), [{ id: "env_d", name: "d" }])).toBe("taken");
      expect(await named()).toEqual([
        ["another", "b", "a"],
        ["project", "default"],
      ]);
      expect(await on.store.projects("team_2")).toEqual([]);
      expect(await on.store.environment("env_d")).toBeUndefined();
    });

    test("without a project, the environment of the oldest one is found", async () => {
      await on.bootstrap();
      await on.store.createProject(project("prj_2", "a-first"), [{ id: "env_b", name: "default" }]);
      const find = async (of: string) => (await on.store.findEnvironment({ teamId: "team_1", project: of, environment: "default" }))?.id;
      expect([await find(""), await find("a-first"), await find("project")]).toEqual(["env_1", "env_b", "env_1"]);
    });

    test("one to which nothing was deployed takes another name, and no other does", async () => {
      await on.bootstrap();
      await on.store.createProject(project("prj_2", "taken"), [{ id: "env_b", name: "b" }]);
      expect(await on.store.claimProject("prj_1", "project", "taken")).toBe(false);
      expect(await on.store.claimProject("prj_1", "elsewhere", "demo")).toBe(false);
      expect(await on.store.claimProject("prj_1", "project", "demo")).toBe(true);
      expect((await on.store.projects("team_1")).map(({ name, isUntouched }) => [name, isUntouched])).toEqual([
        ["demo", true],
        ["taken", true],
      ]);
      await on.createDeployment(deploymentRecord("dpl_1", "env_1"));
      expect(await on.store.claimProject("prj_1", "demo", "other")).toBe(false);
      expect((await on.store.projects("team_1"))[0]).toMatchObject({ name: "demo", isUntouched: false });
    });

    test("an environment is renamed unless its project has one of the name", async () => {
      await on.bootstrap();
      await on.store.createEnvironment({ id: "env_b", name: "b", projectId: "prj_1", createdAt: NOW });
      expect(await on.store.renameEnvironment("env_b", "default")).toBe("taken");
      expect(await on.store.renameEnvironment("env_b", "b")).toBe("renamed");
      expect(await on.store.renameEnvironment("env_b", "c")).toBe("renamed");
      expect(await on.store.renameEnvironment("env_x", "d")).toBe("missing");
      await on.reopen();
      expect((await on.store.environment("env_b"))?.name).toBe("c");
    });

    test("an environment is suspended and resumed once each", async () => {
      await on.bootstrap();
      const suspendedAt = async () => (await on.store.environment("env_1"))?.suspendedAt;
      expect(await on.store.suspendEnvironment("env_1", undefined)).toBe(false);
      expect([await on.store.suspendEnvironment("env_1", 5), await on.store.suspendEnvironment("env_1", 6)]).toEqual([true, false]);
      await on.reopen();
      expect(await suspendedAt()).toBe(5);
      expect(await on.store.suspendEnvironment("env_1", undefined)).toBe(true);
      expect(await suspendedAt()).toBeUndefined();
      expect(await on.store.suspendEnvironment("env_x", 5)).toBe(false);
    });

    test("a removed environment is found nowhere, and erased it leaves nothing", async () => {
      await on.bootstrap();
      const { store } = on;
      expect(await store.removeEnvironment("env_1", NOW, ERASURE)).toBe("last");
      await store.createProject(project("prj_2", "leaving"), [{ id: "env_b", name: "b" }]);
      for (const [id, environment, branch, sourceSha256] of [
        ["dpl_1", "env_1", "", "shared"],
        ["dpl_2", "env_b", "", "shared"],
        ["dpl_3", "env_b", "x", "own"],
      ] as const)
        await on.createDeployment(deploymentRecord(id, environment, { branch, sourceSha256 }));
      await store.promote("dpl_2", NOW);
      await store.putGraph("dpl_2", new Uint8Array([1]));
      const ids = await store.featureIdentities("env_b", [{ fqn: "user.id", dtype: "int" }], NOW);
      await store.resolverVersions("env_b", [{ fqn: "m.f", sourceSha256: "s" }], { deploymentId: "dpl_2", now: NOW });
      const document = { id: "whk_1", kind: "k", scope: "env_b", name: "n", content: {}, revision: 1, createdAt: NOW, updatedAt: NOW };
      await store.documents.insert(document, 10);
      const made = { id: "rev_1", environmentId: "env_b", origin: "sql", originId: "o", createdBy: "c", createdAt: NOW } as const;
      await store.datasets.begin({ id: "dst_1", name: "d" }, made, { datasets: 9, writing: 9 });
      const contents = {
        deployments: 2,
        branches: ["x"],
        featureIds: [ids.get("user.id")?.id],
        bundles: ["own"],
        isLastOfProject: true,
        datasets: 1,
      };
      expect(await store.contents("env_b")).toEqual({ ...contents, settings: 1 } as never);

      expect(await store.removeEnvironment("env_b", NOW, ERASURE)).toBe("removed");
      expect(await store.removeEnvironment("env_b", NOW, ERASURE)).toBe("missing");
      expect([
        await store.environment("env_b"),
        await store.findEnvironment({ teamId: "team_1", project: "", environment: "env_b" }),
      ]).toEqual([undefined, undefined]);
      expect([await named(), (await store.environments()).length]).toEqual([[["project", "default"]], 1]);
      expect([await store.livePointers(), (await store.documents.list("k")).length]).toEqual([[], 0]);
      expect((await store.jobs.job("job_erase"))?.state).toBe("queued");
      expect(await store.renameEnvironment("env_b", "c")).toBe("missing");
      expect(await store.createProject(project("prj_3", "leaving"), [{ id: "env_c", name: "b" }])).toBe("created");
      expect(await store.contents("env_b")).toEqual({ ...contents, settings: 0 } as never);

      await store.eraseEnvironment("env_1");
      expect(await store.deployment("dpl_1")).toBeDefined();
      for (let again = 0; again < 2; again++) await store.eraseEnvironment("env_b");
      expect(await store.contents("env_b")).toMatchObject({ deployments: 0, branches: [], featureIds: [], bundles: [] });
      expect([await store.datasets.revision("rev_1"), await store.datasets.dataset("env_b", "d")]).toEqual([undefined, undefined]);
      expect([await store.deployment("dpl_2"), await store.graph("dpl_2")]).toEqual([undefined, undefined]);
      expect(await store.deployment("dpl_1")).toBeDefined();
    });
  });
}
