/** What every metadata store must do: tenants, environments and clients. */

import { describe, expect, test } from "bun:test";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { Driver } from "../driver.ts";
import { NOW, openEach } from "./records.ts";

/** Runs the suite against a driver. */
export function identityConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, tenants, environments and clients: ${driver.name}`, () => {
    const on = openEach(driver);

    test("bootstraps once, also when two ask at once", async () => {
      expect(await Promise.all([on.bootstrap("1"), on.bootstrap("2")])).toEqual([true, false]);
      await on.reopen();
      expect(await on.bootstrap("3")).toBe(false);
      expect(await on.store.environments()).toEqual([
        { id: "env_1", name: "default", projectId: "prj_1", projectName: "project", teamId: "team_1", createdAt: NOW },
      ]);
      expect(await on.store.client("client_1")).toEqual({
        id: "client_1",
        teamId: "team_1",
        name: "first",
        secretHash: new Uint8Array([1, 2, 3]),
        permissions: ["read", "deploy"],
        createdAt: NOW,
      });
      expect(await on.store.client("client_2")).toBeUndefined();
    });

    test("environments are listed by name, and a name is taken once", async () => {
      await on.bootstrap();
      await on.store.createEnvironment({ id: "env_b", name: "a-first", projectId: "prj_1", createdAt: NOW });
      expect(await on.store.createEnvironment({ id: "env_c", name: "default", projectId: "prj_1", createdAt: NOW })).toBe("taken");
      expect((await on.store.environments()).map(({ id }) => id)).toEqual(["env_b", "env_1"]);
    });

    test("an environment is found by its id or its name, in its team and project alone", async () => {
      await on.bootstrap();
      await on.store.createEnvironment({ id: "env_b", name: "b", projectId: "prj_1", createdAt: NOW });
      const find = async (environment: string, project = "", teamId = "team_1") =>
        (await on.store.findEnvironment({ teamId, project, environment }))?.id;
      expect([await find("default"), await find("b"), await find("env_b")]).toEqual(["env_1", "env_b", "env_b"]);
      expect([await find("b", "project"), await find("b", "prj_1"), await find("b", "other")]).toEqual(["env_b", "env_b", undefined]);
      expect([await find("none"), await find(""), await find("b", "", "team_2")]).toEqual([undefined, undefined, undefined]);
      expect(await on.store.environment("env_b")).toEqual({
        id: "env_b",
        name: "b",
        projectId: "prj_1",
        projectName: "project",
        teamId: "team_1",
        createdAt: NOW,
      });
      expect(await on.store.environment("b")).toBeUndefined();
      expect(await on.store.environments("team_2")).toEqual([]);
      expect((await on.store.environments("team_1")).map(({ id }) => id)).toEqual(["env_b", "env_1"]);
    });

    test("an id goes before a name that reads the same", async () => {
      await on.bootstrap();
      await on.store.createEnvironment({ id: "env_b", name: "env_1", projectId: "prj_1", createdAt: NOW });
      expect((await on.store.findEnvironment({ teamId: "team_1", project: "", environment: "env_1" }))?.id).toBe("env_1");
    });
  });
}
