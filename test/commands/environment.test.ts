import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/context/system-clock.ts";
import { start } from "../../src/server/boot/start.ts";
import { tempFolder } from "../client/test-context.ts";
import { exchange } from "../harness/browser-session.ts";
import { eventually } from "../harness/eventually.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

const READING = `import os
from svc import online
from svc.features import feature, features


@features
class User:
    id: int
    region: str = feature(max_staleness="0s")
    name: str = feature(max_staleness="1h")


@online
def region(id: User.id) -> User.region:
    return os.environ.get("REGION", "none") + " of " + os.environ["SVC_ENVIRONMENT_NAME"]


@online
def get_name(id: User.id) -> User.name:
    return f"user-{id}"
`;

let platform: Platform;
let folder = "";
const run = (path: string, words: readonly string[] = [], options: Parameters<typeof runCommand>[2] = {}) =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: folder, ...options });
const done = async (path: string, words: readonly string[] = [], options: Parameters<typeof runCommand>[2] = {}) => {
  const outcome = await run(path, words, options);
  if (outcome.exitCode !== 0) throw new Error(outcome.stderr);
  return outcome;
};
const ask = (feature: string, ...words: string[]) => run("query", ["--in", "user.id=1", "--out", feature, "--json", ...words]);
const answerTo = async (feature: string, ...words: string[]) => {
  const { exitCode, json, stderr } = await ask(feature, ...words);
  return exitCode === 0 ? (json() as { data: { value: unknown }[] }).data[0]?.value : stderr;
};
const update = (settings: object, ...words: string[]) => {
  const file = join(tempFolder(), "settings.yaml");
  writeFileSync(file, JSON.stringify(settings));
  return run("environment/update", ["-f", file, "--force", ...words]);
};
interface Listed {
  readonly id: string;
  readonly name: string;
  readonly project_name: string;
  readonly suspended_at: string | null;
}
const environments = async () => ((await done("environment/list", ["--json"])).json() as { environments: Listed[] }).environments;

beforeAll(async () => {
  platform = await startPlatform();
  folder = writeProject({ "resolvers.py": "", "features.py": READING });
  await done("apply", ["--force", "--await"]);
}, 300_000);
afterAll(() => platform.server.stop());

describe("the configuration of an environment", () => {
  test("is dumped with all keys, and a dump given back changes nothing", async () => {
    const dump = await done("environment/config");
    expect(dump.stdout).toBe(
      `id: ${platform.environmentId}\nname: default\nspecs_config_json: {}\nadditional_env_vars: {}\nprivate_pip_repositories: []\n` +
        "online_store_secret: null\nfeature_store_secret: null\nenvironment_buckets: null\nlabels: {}\nprotected: false\n" +
        "history_max_age: null\nhistory_max_size: null\nworker_container: null\n",
    );
    const back = await run("environment/update", ["-f", "-", "--force"], { input: [dump.stdout] });
    expect([back.exitCode, back.stdout]).toEqual([0, "Environment 'default' is as it was: nothing differs\n"]);
  });

  test("is shown as a difference, asked for, and says what is recorded alone", async () => {
    const file = join(tempFolder(), "settings.yaml");
    writeFileSync(
      file,
      `specs_config:\n  resource_groups:\n    - resource_group_name: gpu\n      services: {engine-grpc: {replicas: 1}}\n    - {resource_group_name: other, z: 1, a: [1, 2]}\n  size: 1\nenvironment_buckets: {dataset_bucket: "s3://data"}\n`,
    );
    const no = await run("environment/update", ["--config-file", file], { input: ["n"] });
    expect([no.exitCode, no.stderr]).toEqual([
      1,
      expect.stringContaining('@ [environment_buckets]\n- null\n+ {"dataset_bucket":"s3://data"}'),
    ]);
    expect(no.stderr).toContain("recorded, not applied: specs_config, environment_buckets");
    expect((await done("environment/config", ["--json"])).json()).toMatchObject({ environment_buckets: null });
    const yes = await run("environment/update", ["--config-file", file], { input: ["y"] });
    expect([yes.exitCode, yes.stdout]).toEqual([0, "Updated environment 'default'\n"]);
    const dump = (await done("environment/config")).stdout;
    expect((await run("environment/update", ["-f", "-", "--force"], { input: [dump] })).exitCode).toBe(0);
    expect((await done("environment/config")).stdout).toBe(dump);
  });

  test("refuses what it does not know, and a file of another environment", async () => {
    const unknown = await update({ specs: {} });
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining("there is no key 'specs'")]);
    const elsewhere = await update({ id: "env_2", online_store_secret: "x" });
    expect([elsewhere.exitCode, elsewhere.stderr]).toEqual([2, expect.stringContaining("is of environment env_2")]);
    expect((await update({}, "--env-id", "env_2")).stderr).toContain("There is no environment 'env_2'.");
  });

  test("a patch changes one group, and leaves the others byte for byte", async () => {
    const specs = async () =>
      ((await done("environment/config", ["--json"])).json() as { specs_config_json: { resource_groups: unknown[] } }).specs_config_json;
    const before = await specs();
    const patch = (...words: string[]) => run("environment/patch", words);
    const dry = await patch(
      "--resource-group",
      "gpu",
      "--service",
      "engine-grpc",
      "--set",
      "cpu.requests=500m",
      "--set",
      "replicas=3",
      "--dry-run",
    );
    expect(dry.stdout).toBe("resource_group_name: gpu\nservices:\n  engine-grpc:\n    replicas: 3\n    cpu:\n      requests: 500m\n");
    expect(await specs()).toEqual(before);
    const merged = await patch("--resource-group", "gpu", "--patch", '{"services":{"engine-grpc":{"replicas":null,"cpu":2}}}', "--force");
    expect([merged.exitCode, merged.stdout]).toEqual([0, "Updated environment 'default'\n"]);
    expect(merged.stderr).toContain("@ [specs_config_json.resource_groups.0.services.engine-grpc.replicas]\n- 1\n");
    const after = await specs();
    expect(after.resource_groups[0]).toEqual({ resource_group_name: "gpu", services: { "engine-grpc": { cpu: 2 } } });
    expect(JSON.stringify(after.resource_groups[1])).toBe(JSON.stringify(before.resource_groups[1]));
    const file = join(tempFolder(), "patch.json");
    writeFileSync(file, '[{"op":"test","path":"/size","value":1},{"op":"replace","path":"/size","value":2}]');
    expect((await patch("--resource-group", "default", "--patch-type", "json", "--patch-file", file, "--force")).exitCode).toBe(0);
    expect(await specs()).toEqual({ ...after, size: 2 } as never);
    expect((await patch("--resource-group", "default", "--patch-type", "json", "--patch-file", file, "--force")).stderr).toContain(
      "/size has another value",
    );
  });

  test.each([
    [["--resource-group", "gp", "--patch", "{}"], 1, "did you mean 'gpu'?"],
    [["--resource-group", "default", "--patch", '{"resource_groups":[]}'], 1, "may not change resource_groups"],
    [
      ["--resource-group", "default", "--patch-type", "json", "--patch", '[{"op":"copy","from":"/resource_groups/0","path":"/x"}]'],
      1,
      "may not change",
    ],
    [["--resource-group", "gpu", "--patch", '{"resource_group_name":"x"}'], 1, "may not rename"],
    [["--resource-group", "gpu", "--patch", '{"services":{"a":1}}'], 1, "expected keys and values"],
    [["--resource-group", "gpu"], 2, "give one of"],
    [["--resource-group", "gpu", "--patch", "{}", "--service", "a", "--set", "b=1"], 2, "give one of"],
    [["--resource-group", "gpu", "--set", "b=1"], 2, "go together"],
    [["--resource-group", "gpu", "--service", "a"], 2, "go together"],
    [["--resource-group", "gpu", "--service", "a", "--set", "b=1", "--patch-type", "json"], 2, "make a merge patch"],
    [["--patch", "{}"], 2, "--resource-group"],
  ])("patch %p is refused", async (words, exitCode, message) => {
    const refused = await run("environment/patch", [...(words as string[]), "--force"]);
    expect([refused.exitCode, refused.stderr]).toEqual([exitCode as number, expect.stringContaining(message as string)]);
  });

  test("of two updates at once one wins, and the other is told", async () => {
    const call = async (method: string, body: object) => {
      const token = await exchange(platform.url, platform.env.SVC_CLIENT_ID ?? "", platform.env.SVC_CLIENT_SECRET ?? "");
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      return fetch(`${platform.url}/svc.v1.EnvironmentService/${method}`, { method: "POST", headers, body: JSON.stringify(body) });
    };
    const { etag, config } = (await (await call("GetEnvironmentConfig", {})).json()) as { etag: string; config: object };
    const names = ["a", "b", "c", "d"];
    const changes = await Promise.all(
      names.map((onlineStoreSecret) =>
        call("UpdateEnvironmentConfig", { environmentId: platform.environmentId, etag, config: { ...config, onlineStoreSecret } }),
      ),
    );
    expect(changes.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const told = (await changes.find(({ status }) => status === 409)?.json()) as { code: string; message: string };
    expect([told.code, told.message]).toEqual(["aborted", "Somebody else changed the configuration meanwhile; nothing was changed."]);
    const won = names[changes.findIndex(({ status }) => status === 200)];
    expect((await done("environment/config", ["--json"])).json()).toMatchObject({ online_store_secret: won });
  });

  test("variables reach resolvers at once, and no query fails meanwhile", async () => {
    expect(await answerTo("user.region")).toBe("none of default");
    let isOver = false;
    const asking = (async () => {
      const answers: unknown[] = [];
      while (!isOver) answers.push(await answerTo("user.region"));
      return answers;
    })();
    await update({ additional_env_vars: { REGION: "eu" } });
    await eventually(async () => (await answerTo("user.region")) === "eu of default", "eu of default");
    isOver = true;
    for (const answer of await asking) expect(["none of default", "eu of default"]).toContain(answer as string);
    await update({ name: "main" });
    await eventually(async () => (await answerTo("user.region", "--environment", "main")) === "eu of main", "eu of main");
    expect((await update({ name: "default" }, "--env-id", platform.environmentId)).exitCode).toBe(0);
    await eventually(async () => (await answerTo("user.region")) === "eu of default", "eu of default");
  }, 300_000);
});

describe("an environment that is suspended", () => {
  test("answers no queries until it is resumed, and takes no deployments", async () => {
    const no = await run("environment/suspend", [], { input: ["n"] });
    expect([no.exitCode, no.stderr]).toEqual([1, expect.stringContaining("all queries of environment 'default' are refused")]);
    expect(await answerTo("user.region")).toBe("eu of default");
    const { stdout } = await done("environment/suspend", ["--force"]);
    expect(stdout).toBe(`Suspended environment 'default' (${platform.environmentId})\n`);
    expect((await done("environment/suspend", ["--json"])).json()).toEqual({
      id: platform.environmentId,
      name: "default",
      state: "suspended",
      changed: false,
    });
    expect(await environments()).toMatchObject([{ name: "default", suspended_at: expect.stringMatching(/Z$/) }]);
    const refused = await ask("user.region");
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("Environment 'default' is suspended")]);
    expect(refused.stderr).toContain("svc environment resume");
    const token = await exchange(platform.url, platform.env.SVC_CLIENT_ID ?? "", platform.env.SVC_CLIENT_SECRET ?? "");
    const http = await fetch(`${platform.url}/v1/query/online`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.region"] }),
    });
    expect([http.status, await http.json()]).toEqual([503, expect.objectContaining({ error: "suspended", code: "unavailable" })]);
    const applied = await run("apply", ["--force"]);
    expect([applied.exitCode, applied.stderr]).toEqual([1, expect.stringContaining("is suspended")]);
  }, 300_000);

  test("stays so over a restart, and runs again when it is resumed", async () => {
    const { port } = new URL(platform.url);
    await platform.server.stop();
    const server = await start({
      port: Number(port),
      dataDir: join(platform.home, "data"),
      home: join(platform.home, ".svc"),
      clock: systemClock,
      env: { PATH: process.env.PATH, HOME: platform.home },
      log: () => undefined,
      version: "v0.0.0-test",
    });
    platform = { ...platform, server };
    await server.ready;
    expect((await ask("user.region")).stderr).toContain("is suspended");
    const { stdout } = await done("environment/resume", [], { input: ["y"] });
    expect(stdout).toBe(`Resumed environment 'default' (${platform.environmentId})\n`);
    expect(await answerTo("user.region")).toBe("eu of default");
    expect((await done("environment/resume")).stdout).toBe(`Environment 'default' (${platform.environmentId}) is active already\n`);
  }, 300_000);
});

describe("the environments of a project", () => {
  test("are created, listed and made active by name or id", async () => {
    const created = await done("environment/create", ["config", "--json"]);
    const { id } = created.json() as Listed;
    expect((await run("environment/create", ["config"])).stderr).toContain("There is an environment 'config' already.");
    for (const name of ["env_1", "", " a", "a\u0007b"])
      expect((await run("environment/create", ["--", name])).stderr).toContain("The name of an environment cannot be");
    expect((await run("environment/create", ["x", "--project", "none"])).stderr).toContain("There is no project 'none'");
    expect((await done("environment", ["--", "config"])).stdout).toContain(`config (${id})`);
    expect((await done("environment")).stdout).toBe(`config (${id})\n`);
    expect((await done("environment", ["default"])).stdout).toContain("The active environment is now default");
    expect((await run("environment", ["none"])).stderr).toContain("there is no environment 'none'");
  });

  test("projects are created with names of environments, once", async () => {
    const created = (await done("project/create", ["risk", "--environments", "dev,prod", "--json"])).json();
    expect(created).toMatchObject({ name: "risk", environments: ["dev", "prod"] });
    expect((await run("project/create", ["risk"])).stderr).toContain("There is a project 'risk' already.");
    expect((await run("project/create", ["prj_x"])).stderr).toContain("is an id");
    expect((await done("project/list")).stdout).toMatch(
      /^ID +Name +Environments +Created\nprj_\S+ +demo +default, config +\S+\nprj_\S+ +risk +dev, prod +\S+\n$/,
    );
    expect((await done("environment/create", ["dev", "--project", "demo", "--json"])).json()).toMatchObject({ project_name: "demo" });
  });

  test("one is deleted with everything in it", async () => {
    const elsewhere = writeProject({
      "svc.yaml": "project: gone\nenvironments: {default: {}}\n",
      "resolvers.py": "",
      "features.py": READING,
    });
    await done("apply", ["--force", "--await"], { dir: elsewhere });
    await done("apply", ["--force", "--await", "--branch=b"], { dir: elsewhere });
    await done("query", ["--in", "user.id=7", "--out", "user.name"], { dir: elsewhere });
    const of = (await environments()).find(({ project_name }) => project_name === "gone") as Listed;
    const no = await run("environment/delete", [of.id], { input: ["n"] });
    expect([no.exitCode, no.stderr]).toEqual([
      1,
      expect.stringContaining(
        "takes along 2 deployments, 1 branch, the online and offline values of 3 features, 0 datasets, 0 settings, and its logs",
      ),
    ]);
    expect(no.stderr).toContain("It is the only environment of project 'gone', which goes with it.");
    expect((await run("environment/delete", [])).exitCode).toBe(2);
    await done("environment/delete", [of.id, "--force"]);
    expect((await environments()).map(({ id }) => id)).not.toContain(of.id);
    expect((await run("query", ["--in", "user.id=7", "--out", "user.name"], { dir: elsewhere })).stderr).toContain(
      "There is no project 'gone'",
    );
    expect((await done("project/list")).stdout).not.toContain("gone");
    await eventually(() => {
      using meta = new Database(join(platform.home, "data", "meta.db"), { readonly: true });
      return meta.query("select id from environment where id = ?").get(of.id) === null;
    }, "the environment is erased");
    expect(leftovers(of.id)).toEqual([]);
    expect(await answerTo("user.name")).toBe("user-1");
    await done("apply", ["--force", "--await"], { dir: elsewhere });
  }, 300_000);

  /** Tables that say what ran, what was used and who called: their rows go when they are old. */
  const RECORDS = ["audit", "job", "process", "process_event", "usage_day"];

  /** Rows of an environment that are still there, but for records. */
  function leftovers(id: string): readonly unknown[] {
    const rows: unknown[] = [];
    for (const file of ["meta.db", "telemetry.db", "offline.db"]) {
      using db = new Database(join(platform.home, "data", file), { readonly: true });
      const tables = db.query<{ name: string }, []>("select name from sqlite_master where type = 'table'").all();
      for (const { name } of tables.filter((table) => !RECORDS.includes(table.name))) {
        const columns = db.query<{ name: string }, []>(`select name from pragma_table_info('${name}')`).all();
        for (const column of columns)
          if (["environment_id", "scope"].includes(column.name))
            rows.push(...db.query(`select '${name}' as found from ${name} where ${column.name} = ?`).all(id));
      }
    }
    return rows;
  }

  test("the last one of the server stays", async () => {
    for (const { id } of await environments()) if (id !== platform.environmentId) await done("environment/delete", [id, "--force"]);
    const last = await run("environment/delete", ["default", "--force"]);
    expect([last.exitCode, last.stderr]).toEqual([1, expect.stringContaining("is the last one of the server")]);
  }, 300_000);
});
