/** Versions of features that come out of use, on real servers whose files are read apart from them. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { AuditService } from "../../../gen/svc/v1/audit_pb.ts";
import { FeatureDataService } from "../../../gen/svc/v1/feature_data_pb.ts";
import { ResolverRunService } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, type ProjectFiles } from "../deployments/deploying.ts";
import { Cluster } from "../nodes/two-nodes.ts";
import { ask } from "./asking.ts";

/** Folder of gates: the resolver of a user with one waits there until it is opened. */
const gates = new TempFolder();
afterAll(() => gates[Symbol.dispose]());

/** Users whose names count how often they were computed, so that a stored one is told from a new one. */
const USERS: ProjectFiles = {
  "features.py": `from svc.features import DataFrame, features, has_many

@features(max_staleness="1h")
class User:
    id: int
    team_id: "Team.id"
    name: str
    shout: str

@features(max_staleness="1h")
class Team:
    id: str
    title: str
    users: "DataFrame[User]" = has_many(lambda: User.team_id == Team.id, max_staleness="1h")
`,
  "resolvers.py": `import itertools, os, time
from svc import DataFrame, online
from features import Team, User

count = itertools.count()

@online
def get_name(id: User.id) -> User.name:
    gate = os.path.join(${JSON.stringify(gates.path)}, str(id))
    if os.path.exists(gate):
        os.rename(gate, gate + ".reached")
        while not os.path.exists(gate + ".open"):
            time.sleep(0.005)
    return f"{os.getpid()} {next(count)}"

@online
def get_shout(name: User.name) -> User.shout:
    return name + "!"

@online
def title(id: Team.id) -> Team.title:
    return "team " + id

@online
def users(id: Team.id) -> Team.users[User.id, User.name]:
    return DataFrame({"id": [1, 2], "name": ["user 1", "user 2"]})
`,
};

/** Numbers of stored values by `<fqn> v<internal version>`, read from a node's files. */
function held(folder: string, metadata = folder): { online: Record<string, number>; offline: Record<string, number> } {
  using meta = new Database(join(metadata, "meta.db"), { readonly: true });
  const names = new Map(
    meta
      .query<{ id: number; name: string }, []>("select id, fqn || ' v' || internal_version as name from feature")
      .all()
      .map(({ id, name }) => [id, name]),
  );
  using online = new Database(join(folder, "online.db"), { readonly: true });
  const cells = online.query<{ fid: number; n: number }, []>("select fid, count(*) as n from online group by fid").all();
  const found = { online: Object.fromEntries(cells.map(({ fid, n }) => [names.get(fid) ?? `?${fid}`, n])), offline: {} };
  if (!existsSync(join(folder, "offline.db"))) return found;
  using offline = new Database(join(folder, "offline.db"), { readonly: true });
  offline.run("pragma busy_timeout = 60000");
  if (!offline.query("select 1 from sqlite_schema where name = 'version'").get()) return found;
  const tables = offline.query<{ fid: number; name: string }, []>("select fid, table_name as name from version").all();
  const rows = (table: string) => offline.query<{ n: number }, []>(`select count(*) as n from "${table}"`).get()?.n ?? 0;
  return { ...found, offline: Object.fromEntries(tables.map(({ fid, name }) => [names.get(fid) ?? `?${fid}`, rows(name)])) };
}

const nameOf = async (server: TestServer, id: number): Promise<unknown> =>
  (await ask(server, { "user.id": id }, ["user.name"])).data?.[0]?.value;

describe("versions of features", () => {
  let folder: TempFolder;
  let server: TestServer;
  const data = () => join(folder.path, "data");
  const service = () => server.client(FeatureDataService);
  const written = (name: string, count: number) =>
    eventually(() => held(data()).online[name] === count && held(data()).offline[name] === count, `${count} values of ${name} are stored`);
  beforeAll(async () => {
    folder = new TempFolder();
    server = await TestServer.start(folder.path, { workers: 2 });
    await server.server.ready;
    expectLive(await deploy(server, USERS));
  }, 300_000);
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("a migrated feature begins anew, and its history stays where no query comes", async () => {
    const before = [await nameOf(server, 1), await nameOf(server, 2)];
    expect(await nameOf(server, 1)).toBe(before[0]);
    await ask(server, { "user.id": 1 }, ["user.shout"]);
    await ask(server, { "team.id": "red" }, ["team.users"]);
    await written("user.name v1", 2);
    await eventually(() => held(data()).online["team.users v1"] === 1, "the team's users are stored");

    const { versions, deletion } = await service().migrateTypes({ selection: { features: ["name"], namespace: "user" } });
    expect(versions.map(({ fqn, internalVersion }) => [fqn, internalVersion])).toEqual([["user.name", 2]]);
    expect(deletion).toMatchObject({ done: true, waitingNodes: 0, onlineValues: 3n });
    const after = held(data());
    expect(Object.keys(after.online).sort()).toEqual(["user.shout v1"]);
    expect(after.offline).toMatchObject({ "user.name v1": 2, "user.name v2": 0 });
    const { tables } = await service().listOfflineTables({ fqn: "user.name", includeHistorical: true });
    expect(tables.map((table) => table.slice(-2))).toEqual(["v1", "v2"]);
    const fresh = await nameOf(server, 1);
    expect(before).not.toContain(fresh);
    await written("user.name v2", 1);
  }, 300_000);

  test("the next deployment and the next start keep the version", async () => {
    const stored = await nameOf(server, 1);
    const files = { ...USERS, "more.py": "# another deployment\n" };
    expectLive(await deploy(server, files));
    expect(await nameOf(server, 1)).toBe(stored);
    const { credentials } = server;
    await server[Symbol.asyncDispose]();
    server = await TestServer.start(folder.path, { credentials, workers: 2 });
    await server.server.ready;
    expect(await nameOf(server, 1)).toBe(stored);
    const { versions } = await service().previewVersions({ selection: { features: ["user.name"] } });
    expect(versions).toMatchObject([{ internalVersion: 2 }]);
  }, 300_000);

  test("a query that runs meanwhile has all of the old version, and stores nothing of it", async () => {
    const stored = await nameOf(server, 1);
    await ask(server, { "user.id": 20 }, ["user.shout"]);
    await Bun.write(join(gates.path, "21"), "");
    const running = ask(server, { "user.id": 21 }, ["user.shout"]);
    await eventually(() => Bun.file(join(gates.path, "21.reached")).exists(), "the resolver runs");
    const migrating = service().migrateTypes({ selection: { namespace: "user" } });
    await eventually(() => server.log.length > 0 && ended() === 2, "the versions are ended");
    // Queries that begin now have the next version; what the running one may read is still there.
    await eventually(async () => (await nameOf(server, 1)) !== stored, "the next version is used");
    expect(held(data()).online["user.name v2"]).toBeGreaterThan(1);
    await Bun.write(join(gates.path, "21.open"), "");
    expect((await running).data?.[0]?.value).toMatch(/^\d+ \d+!$/);
    expect((await migrating).deletion).toMatchObject({ done: true });
    // A marker behind it in both queues: what the query queued would be written by now.
    await ask(server, { "user.id": 22 }, ["user.shout"]);
    await eventually(() => (held(data()).offline["user.shout v2"] ?? 0) >= 1, "the marker is stored");
    const now = held(data());
    expect(
      Object.keys(now.online).filter((name) => name.startsWith("user.") && name.endsWith(name.startsWith("user.name") ? "v2" : "v1")),
    ).toEqual([]);
    using offline = new Database(join(data(), "offline.db"), { readonly: true });
    const tables = offline.query<{ name: string }, []>("select table_name as name from version where ns = 'user'").all();
    for (const { name } of tables) expect(offline.query(`select 1 from "${name}" where pk = 'i:21'`).all()).toEqual([]);
    // A run over the rows that the history knows finds those of the version in use alone.
    const { run } = await server.client(ResolverRunService).triggerResolver({ resolver: "get_shout" });
    await eventually(async () => {
      const { run: now } = await server.client(ResolverRunService).getResolverRun({ id: run?.id ?? "" });
      return now?.rows === 2n;
    }, "the run is for users 1 and 22");
  }, 300_000);

  /** Deletions of versions that are recorded. */
  const ended = (): number => {
    using db = new Database(join(data(), "meta.db"), { readonly: true });
    return db.query<{ n: number }, []>("select count(*) as n from deletion where versions <> 'null'").get()?.n ?? 0;
  };

  test("a dropped feature has nothing stored of any version, and begins anew", async () => {
    expectLive(await deploy(server, USERS, { branch: "b" }));
    await ask(server, { "user.id": 1 }, ["user.name"], { branch: "b" });
    const before = await nameOf(server, 1);
    const inBranch = () => {
      using db = new Database(join(data(), "online.db"), { readonly: true });
      return db.query("select 1 from online where scope <> 'main'").all().length;
    };
    await eventually(() => inBranch() === 1, "the branch's value is stored");
    const { versions, deletion } = await service().dropVersions({ selection: { features: ["user.name"] } });
    expect(versions).toMatchObject([{ fqn: "user.name", internalVersion: 4 }]);
    expect(deletion).toMatchObject({ done: true });
    expect(inBranch()).toBe(0);
    const left = held(data());
    expect([...Object.keys(left.online), ...Object.keys(left.offline)].filter((name) => name.startsWith("user.name"))).toEqual([]);
    expect(Object.keys(left.offline).some((name) => name.startsWith("user.shout"))).toBe(true);
    expect(await nameOf(server, 1)).not.toBe(before);
    await written("user.name v4", 1);
    const { credentials } = server;
    await server[Symbol.asyncDispose]();
    server = await TestServer.start(folder.path, { credentials, workers: 2 });
    await server.server.ready;
    const again = held(data());
    expect([...Object.keys(again.online), ...Object.keys(again.offline)].filter((name) => /user\.name v[123]/.test(name))).toEqual([]);
  }, 300_000);

  test("are told in the audit log", async () => {
    const { logs } = await server.client(AuditService).listAuditLogs({});
    const rows = logs.filter(({ endpoint }) => /\/(?:MigrateTypes|DropVersions)$/.test(endpoint));
    expect(rows.map(({ endpoint }) => endpoint.slice(endpoint.indexOf("/") + 1))).toEqual(["DropVersions", "MigrateTypes", "MigrateTypes"]);
    expect(JSON.stringify(rows[0]?.about)).toContain("user.name");
  });

  const REFUSED: readonly (readonly [
    why: string,
    selection: { features?: string[]; namespace?: string },
    branch: string,
    code: Code,
    says: RegExp,
  ])[] = [
    ["nothing selected", {}, "", Code.InvalidArgument, /Nothing was selected/],
    ["an unknown feature", { features: ["user.nme"] }, "", Code.NotFound, /no feature 'user.nme'/],
    ["an unknown namespace", { namespace: "usr" }, "", Code.NotFound, /no namespace 'usr'/],
    ["a feature of another namespace", { features: ["team.title"], namespace: "user" }, "", Code.NotFound, /in namespace 'user'/],
    ["a branch", { namespace: "user" }, "b", Code.InvalidArgument, /name no branch/],
    ["many names", { features: Array.from({ length: 1_001 }, String) }, "", Code.InvalidArgument, /At most 1000/],
  ];
  test.each(REFUSED)("a change of them is refused: %s", async (_, selection, branch, code, says) => {
    const client = server.client(FeatureDataService, { headers: branch === "" ? {} : { "svc-branch": branch } });
    for (const method of ["previewVersions", "migrateTypes", "dropVersions"] as const)
      await expect(client[method]({ selection })).rejects.toMatchObject({ code, message: expect.stringMatching(says) });
  });
});

test("two nodes: versions end on both, also on one that was off", async () => {
  await using cluster = new Cluster();
  const [a, b] = [await cluster.start("a"), await cluster.start("b")];
  expectLive(await deploy(a, USERS));
  const names = (node: string): string[] => {
    const { online, offline } = held(cluster.folderOf(node), cluster.folder);
    return [...new Set([...Object.keys(online), ...Object.keys(offline)])].filter((name) => name.startsWith("user.name")).sort();
  };
  const both = async (version: string) => {
    for (const node of [a, b]) await eventually(() => nameOf(node, 1).then(Boolean, () => false), "the node serves");
    await eventually(
      () => ["a", "b"].every((node) => names(node).includes(version) && held(cluster.folderOf(node), cluster.folder).online[version]),
      "both have stored it",
    );
  };
  await both("user.name v1");
  const dropped = await b.client(FeatureDataService).dropVersions({ selection: { features: ["user.name"] } });
  expect(dropped.deletion).toMatchObject({ done: true, waitingNodes: 0 });
  expect(["a", "b"].map(names)).toEqual([[], []]);
  await both("user.name v2");
  const old = await nameOf(b, 1);
  await b.server.stop();
  expect((await a.client(FeatureDataService).dropVersions({ selection: { features: ["user.name"] } })).deletion).toMatchObject({
    done: true,
  });
  expect(["a", "b"].map(names)).toEqual([[], ["user.name v2"]]);
  const back = await cluster.start("b");
  await eventually(() => names("b").length === 0, "the node drops what was dropped while it was off");
  expect(await nameOf(back, 1)).not.toBe(old);
}, 300_000);
