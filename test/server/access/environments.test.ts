import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createEnvironments, type Environments } from "../../../src/server/access/environments.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";

let store: MetadataStore;
let environments: Environments;
const add = (id: string, name: string) => store.createEnvironment({ id, name, projectId: "prj_1", createdAt: 1 });
const find = (environment: string, project = "") => environments.find({ teamId: "team_1", project, environment });

beforeEach(async () => {
  store = createSqliteMetadataStore({ path: ":memory:", programVersion: "1" });
  environments = createEnvironments(store);
  await store.bootstrap({
    team: { id: "team_1", name: "team" },
    project: { id: "prj_1", name: "project" },
    environment: { id: "env_1", name: "production" },
    client: { id: "client_1", name: "first", secretHash: new Uint8Array(32), permissions: [] },
    now: 1,
  });
});
afterEach(() => store.close());

describe("environments of a server", () => {
  test("one that was found is there at once, by each of its names, until it may have changed", async () => {
    for (const name of ["production", "env_1", ""]) {
      expect(find(name)).toBeInstanceOf(Promise);
      expect(await find(name)).toMatchObject({ id: "env_1", projectName: "project" });
      expect(find(name)).toMatchObject({ id: "env_1" });
    }
    environments.invalidate();
    expect(find("production")).toBeInstanceOf(Promise);
  });

  test("one that is not there is looked for again", async () => {
    expect(await find("new")).toBeUndefined();
    await add("env_2", "new");
    expect(await find("new")).toMatchObject({ id: "env_2" });
  });

  test("without a name the one called default is meant, or else the first", async () => {
    await add("env_2", "zeta");
    expect(await find("")).toMatchObject({ name: "production" });
    await add("env_3", "default");
    environments.invalidate();
    expect(await find("")).toMatchObject({ name: "default" });
    expect(await find("", "elsewhere")).toBeUndefined();
  });

  test("what was read before a change is not remembered after it", async () => {
    const before = find("production");
    environments.invalidate();
    expect(await before).toMatchObject({ id: "env_1" });
    expect(find("production")).toBeInstanceOf(Promise);
  });

  test("a project and an environment that together read like others are told apart", async () => {
    await add("env_2", "1/x");
    expect(await find("1/x")).toMatchObject({ id: "env_2" });
    expect(await find("x", "1/")).toBeUndefined();
  });

  test("lists those of a team, and of a project of it", async () => {
    await add("env_2", "b");
    const ids = async (teamId: string, project?: string) => (await environments.list(teamId, project)).map(({ id }) => id);
    expect(await ids("team_1")).toEqual(["env_2", "env_1"]);
    expect(await ids("team_1", "project")).toEqual(["env_2", "env_1"]);
    expect(await ids("team_1", "other")).toEqual([]);
    expect(await ids("team_2")).toEqual([]);
  });
});
