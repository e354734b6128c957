import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createEnvironments } from "../../../src/server/access/environments.ts";
import { createProjects, type Folder, type Projects } from "../../../src/server/access/projects.ts";
import type { Caller } from "../../../src/server/access/tokens.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { TestClock } from "../../harness/running-server.ts";
import { buildOf, deploymentRecord } from "../stores/metadata/records.ts";

let store: MetadataStore;
let projects: Projects;
const caller = (...permissions: string[]): Caller => ({ clientId: "c", teamId: "team_1", permissions }) as Caller;
const OWNER = caller("admin");
const NOWHERE = { environment: "", branch: "", deployment: "", project: "" };
const folder = (projectName: string, ...environmentNames: string[]): Folder => ({ projectName, environmentNames });
/** Settles a folder and deploys it, so that its project is no longer untouched. */
const deploy = async (of: Folder, environment = "", by = OWNER) => {
  const settled = await projects.settle(by, { ...NOWHERE, environment }, of);
  const deployment = deploymentRecord(`dpl_${Bun.randomUUIDv7()}`, settled.id, { projectName: of.projectName });
  await store.createDeployment(deployment, buildOf(deployment));
  return `${settled.projectName}/${settled.name}`;
};

beforeEach(async () => {
  store = createSqliteMetadataStore({ path: ":memory:", programVersion: "1" });
  await store.bootstrap({
    team: { id: "team_1", name: "default" },
    project: { id: "prj_1", name: "default" },
    environment: { id: "env_1", name: "default" },
    client: { id: "client_1", name: "first", secretHash: new Uint8Array(32), permissions: [] },
    now: 1,
  });
  projects = createProjects({ metadata: store, environments: createEnvironments(store), bus: createMemoryBus(), clock: new TestClock() });
});
afterEach(() => store.close());

const named = async () => (await projects.list("team_1")).map(({ name, environments }) => `${name}: ${environments.join(", ")}`);

describe("the place of a folder", () => {
  test("the first folder gives the untouched project its name, with the environments of its project file", async () => {
    expect(await projects.place(OWNER, NOWHERE, folder("demo", "default", "prod"))).toMatchObject({ environment: { id: "env_1" } });
    expect(await named()).toEqual(["default: default"]);
    expect(await deploy(folder("demo", "default", "prod"))).toBe("demo/default");
    expect(await named()).toEqual(["demo: default, prod"]);
    expect(await deploy(folder("demo", "default", "prod"), "prod")).toBe("demo/prod");
  });

  test("every other folder gets a project of its own, whatever the order they come in at once", async () => {
    const placed = await Promise.all(["a", "b", "c", "a", "b"].map((name) => deploy(folder(name))));
    expect(placed).toEqual(["a/default", "b/default", "c/default", "a/default", "b/default"]);
    expect(await named()).toEqual(["a: default", "b: default", "c: default"]);
  });

  test("without an environment the one called default is meant, or the first that the file names", async () => {
    await deploy(folder("demo"));
    expect(await deploy(folder("other", "dev", "prod"))).toBe("other/dev");
    expect(await deploy(folder("other", "dev", "prod"))).toBe("other/dev");
    expect(await deploy(folder("third", "dev", "default"))).toBe("third/default");
  });

  test("a folder without a name, and one that names the project of the environment, stay where they are", async () => {
    expect(await deploy(folder(""))).toBe("default/default");
    expect(await deploy(folder("demo"))).toBe("demo/default");
    expect(await deploy(folder("default"))).toBe("default/default");
  });

  test("who may deploy alone makes environments of the file, and no project", async () => {
    const deployer = caller("read", "deploy");
    expect(await deploy(folder("demo"), "", deployer)).toBe("demo/default");
    expect(await deploy(folder("demo", "default", "prod"), "prod", deployer)).toBe("demo/prod");
    await expect(deploy(folder("other"), "", deployer)).rejects.toMatchObject({
      kind: "permission_denied",
      message: expect.stringContaining("settings.write"),
    });
    expect(await deploy(folder("other"), "", caller("deploy", "settings.write"))).toBe("other/default");
    expect(await deploy(folder("other"), "", deployer)).toBe("other/default");
  });

  test("an environment of another project, by id, is refused and nothing is made", async () => {
    await deploy(folder("demo"));
    await expect(deploy(folder("other"), "env_1")).rejects.toMatchObject({ kind: "failed_precondition" });
    await expect(deploy(folder("demo"), "env_none")).rejects.toMatchObject({ kind: "not_found" });
    await expect(deploy(folder("demo", "a"), "b")).rejects.toMatchObject({ kind: "not_found" });
    expect(await named()).toEqual(["demo: default"]);
  });

  test("names that cannot be are refused before anything is made", async () => {
    await deploy(folder("demo"));
    for (const wrong of [folder("a\u0000"), folder("prj_1x"), folder("ok", "env_1"), folder("ok", " ")])
      await expect(deploy(wrong)).rejects.toMatchObject({ kind: "invalid_argument" });
    expect(await named()).toEqual(["demo: default"]);
  });
});
