/** Deletions of stored values, on real servers whose files are read apart from them. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { AuditService } from "../../../gen/svc/v1/audit_pb.ts";
import { DeploymentService } from "../../../gen/svc/v1/deployment_pb.ts";
import { FeatureDataService, type ValueSelection } from "../../../gen/svc/v1/feature_data_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { type SpawnedServer, spawnServer } from "../../harness/spawned-server.ts";
import { deploy, expectLive, type ProjectFiles } from "../deployments/deploying.ts";
import { Cluster } from "../nodes/two-nodes.ts";
import { ask } from "./asking.ts";
import { storedIn } from "./stored.ts";

/** Folder of gates: the resolver of a user with one waits there until it is opened. */
const gates = new TempFolder();

/** Users with names, and teams whose members are users: a team's stored rows hold them. */
const TEAMS: ProjectFiles = {
  "features.py": `from svc.features import DataFrame, feature, features, has_many

@features(max_staleness="1h")
class User:
    id: int
    team_id: "Team.id"
    name: str = feature(tags=["pii"])
    greeting: str

@features(max_staleness="1h")
class Team:
    id: str
    title: str
    users: "DataFrame[User]" = has_many(lambda: User.team_id == Team.id, max_staleness="1h")
`,
  "resolvers.py": `import os, time
from svc import DataFrame, online
from features import Team, User

@online
def get_name(id: User.id) -> User.name:
    gate = os.path.join(${JSON.stringify(gates.path)}, str(id))
    if os.path.exists(gate):
        os.rename(gate, gate + ".reached")
        while not os.path.exists(gate + ".open"):
            time.sleep(0.005)
    return f"user {id}"

@online
def greet(name: User.name) -> User.greeting:
    return "hello " + name

@online
def title(id: Team.id) -> Team.title:
    return "team " + id

@online
def users(id: Team.id) -> Team.users[User.id, User.name]:
    return DataFrame({"id": [1, 2], "name": ["user 1", "user 2"]})
`,
};

type Selected = Partial<Pick<ValueSelection, "features" | "keys" | "namespace" | "tags">>;

const remove = async (server: TestServer, selection: Selected, headers: Record<string, string> = {}) =>
  (await server.client(FeatureDataService, { headers }).deleteValues({ selection })).deletion;

const USER = ["user.name", "user.greeting"] as const;

/** Whether a query is in a node's query log. */
function isLogged(folder: string, queryId: string | undefined): boolean {
  using db = new Database(join(folder, "telemetry.db"), { readonly: true });
  return db.query("select 1 from query_log where query_id = ?").get(queryId ?? "") !== null;
}

afterAll(() => gates[Symbol.dispose]());

describe("a deletion", () => {
  let folder: TempFolder;
  let server: TestServer;
  const data = () => join(folder.path, "data");
  /** Waits until the files hold what a query stored. */
  const written = (name: string, store: "online" | "offline" = "offline") =>
    eventually(() => storedIn(data())[store][name] !== undefined, `${name} is stored`);
  beforeAll(async () => {
    folder = new TempFolder();
    server = await TestServer.start(folder.path);
    await server.server.ready;
    expectLive(await deploy(server, TEAMS));
  }, 300_000);
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("takes rows x features out of all stores, and nothing else", async () => {
    const logged = new Map<number, string | undefined>();
    for (let id = 1; id <= 9; id++) logged.set(id, (await ask(server, { "user.id": id }, USER)).meta?.query_id);
    await ask(server, { "team.id": "1" }, ["team.title"]);
    for (const store of ["online", "offline"] as const) for (const name of ["user.greeting 9", "team.title 1"]) await written(name, store);
    await eventually(() => isLogged(data(), logged.get(9)), "the queries are logged");
    const before = storedIn(data());
    const deletion = await remove(server, { features: ["user.name"], keys: ["1", "2", "77"] });
    // The oracle: what there was, without the features of the rows that were named.
    const kept = (all: Readonly<Record<string, number>>) =>
      Object.fromEntries(Object.entries(all).filter(([name]) => !["user.name 1", "user.name 2"].includes(name)));
    expect(storedIn(data())).toEqual({ online: kept(before.online), offline: kept(before.offline) });
    expect(Object.keys(before.online).length - Object.keys(kept(before.online)).length).toBe(2);
    expect(deletion).toMatchObject({ done: true, waitingNodes: 0, onlineValues: 2n, offlineValues: 2n });
    // The team's query has a text key, 1, which the query log cannot tell from the number.
    expect(deletion?.loggedQueries).toBe(3n);
    expect([...logged].filter(([, id]) => isLogged(data(), id)).map(([id]) => id)).toEqual([3, 4, 5, 6, 7, 8, 9]);
  }, 300_000);

  test("is not undone by a query that began before it, nor by one that asks of a time before it", async () => {
    const before = new Date().toISOString();
    await Bun.write(join(gates.path, "20"), "");
    const running = ask(server, { "user.id": 20 }, USER);
    await eventually(() => Bun.file(join(gates.path, "20.reached")).exists(), "the resolver runs");
    expect(await remove(server, { namespace: "user", keys: ["20"] })).toMatchObject({ done: true });
    await Bun.write(join(gates.path, "20.open"), "");
    expect((await running).data?.map(({ value }) => value)).toEqual(["user 20", "hello user 20"]);
    expect((await ask(server, { "user.id": 20 }, USER, { now: before })).data?.[0]?.value).toBe("user 20");
    // A marker behind them in both queues: what they queued would be written by now.
    await ask(server, { "user.id": 21 }, USER);
    for (const store of ["online", "offline"] as const) await written("user.greeting 21", store);
    const { online, offline } = storedIn(data());
    expect([...Object.keys(online), ...Object.keys(offline)].filter((name) => name.endsWith(" 20"))).toEqual([]);
    // What is computed after it is stored as ever.
    await ask(server, { "user.id": 20 }, USER);
    for (const store of ["online", "offline"] as const) await written("user.greeting 20", store);
  }, 300_000);

  test("takes along the stored rows of relations that may hold a row", async () => {
    await ask(server, { "team.id": "red" }, ["team.users"]);
    await written("team.users red", "online");
    await remove(server, { features: ["title"], namespace: "team", keys: ["red"] });
    expect(storedIn(data()).online["team.users red"]).toBe(1);
    await remove(server, { features: ["user.name"], keys: ["2"] });
    expect(storedIn(data()).online["team.users red"]).toBeUndefined();
  }, 300_000);

  test("is by tag and by namespace too, and of a branch by itself", async () => {
    await ask(server, { "user.id": 30 }, USER);
    await written("user.greeting 30");
    await remove(server, { tags: ["pii"], keys: ["30"] });
    const left = () => Object.keys(storedIn(data()).offline).filter((name) => name.endsWith(" 30"));
    expect(left()).toEqual(["user.greeting 30"]);
    expectLive(await deploy(server, TEAMS, { branch: "b" }));
    await ask(server, { "user.id": 30 }, USER, { branch: "b" });
    const inBranch = () => {
      using db = new Database(join(data(), "online.db"), { readonly: true });
      return db.query("select 1 from online where scope <> 'main' and pk = 'i:30'").all().length;
    };
    await eventually(() => inBranch() === 2, "the branch's values are stored");
    expect(await remove(server, { namespace: "user", keys: ["30"] }, { "svc-branch": "b" })).toMatchObject({
      ...{ onlineValues: 2n, offlineValues: 0n, loggedQueries: 1n },
    });
    expect([inBranch(), left()]).toEqual([0, ["user.greeting 30"]]);
    await server.client(DeploymentService).deleteBranch({ branch: "b" });
  }, 300_000);

  test("has a row in the audit log, with the features and without the keys", async () => {
    await remove(server, { features: ["user.name"], keys: ["424242"] });
    const { logs } = await server.client(AuditService).listAuditLogs({});
    const row = logs.find(({ endpoint }) => endpoint === "svc.v1.FeatureDataService/DeleteValues");
    expect(JSON.stringify(row?.about)).toContain("user.name");
    expect(JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value))).not.toContain("424242");
    expect(JSON.stringify(server.log)).not.toContain("424242");
  });

  const REFUSED: readonly (readonly [why: string, selection: Selected, code: Code, says: RegExp, hint: RegExp | undefined])[] = [
    ["no keys", { features: ["user.name"] }, Code.InvalidArgument, /No keys were given/, undefined],
    ["nothing selected", { keys: ["1"] }, Code.InvalidArgument, /Nothing was selected/, undefined],
    ["both", { features: ["user.name"], tags: ["pii"], keys: ["1"] }, Code.InvalidArgument, /give one of them/, undefined],
    ["a feature", { features: ["user.nam"], keys: ["1"] }, Code.NotFound, /no feature 'user.nam'/, /user\.name/],
    [
      "a feature of another namespace",
      { features: ["user.name"], namespace: "team", keys: ["1"] },
      Code.NotFound,
      /in namespace 'team'/,
      undefined,
    ],
    ["a tag", { tags: ["pi"], keys: ["1"] }, Code.NotFound, /has the tag 'pi'/, /pii/],
    ["a namespace", { namespace: "usr", keys: ["1"] }, Code.NotFound, /no namespace 'usr'/, /user/],
    ["a text for a number", { namespace: "user", keys: ["1", "x"] }, Code.InvalidArgument, /'x' is no key of 'user'/, undefined],
    ["too large a number", { namespace: "user", keys: ["9223372036854775808"] }, Code.InvalidArgument, /64 bits/, undefined],
    ["a long key", { namespace: "team", keys: ["x".repeat(1_025)] }, Code.InvalidArgument, /at most 1024/, undefined],
    ["many keys", { namespace: "user", keys: Array.from({ length: 10_001 }, String) }, Code.InvalidArgument, /at most 10000/, undefined],
    ["many names", { features: Array.from({ length: 1_001 }, String), keys: ["1"] }, Code.InvalidArgument, /at most 1000/, undefined],
  ];
  test.each(REFUSED)("is refused: %s", async (_, selection, code, says, hint) => {
    for (const method of ["previewDeletion", "deleteValues"] as const) {
      const refused = await server
        .client(FeatureDataService)
        [method]({ selection })
        .then(
          () => undefined,
          (error: { code: Code; message: string; details: unknown }) => error,
        );
      expect(refused).toMatchObject({ code, message: expect.stringMatching(says) });
      if (hint) expect(JSON.stringify(refused?.details)).toMatch(hint);
    }
  });

  test("of another environment is not told", async () => {
    await expect(server.client(FeatureDataService).getDeletion({ id: "del_none" })).rejects.toMatchObject({ code: Code.NotFound });
  });
});

test("two nodes: what is deleted on one is gone on both, also on one that was off", async () => {
  await using cluster = new Cluster();
  const [a, b] = [await cluster.start("a"), await cluster.start("b")];
  expectLive(await deploy(a, TEAMS));
  const stored = (name: string) => storedIn(cluster.folderOf(name), cluster.folder);
  const holds = (name: string, id: number) =>
    [...Object.keys(stored(name).online), ...Object.keys(stored(name).offline)].includes(`user.name ${id}`);
  const both = async (id: number) => {
    for (const node of [a, b]) await ask(node, { "user.id": id }, USER);
    await eventually(
      () => ["a", "b"].every((name) => stored(name).offline[`user.name ${id}`] && stored(name).online[`user.name ${id}`]),
      "stored",
    );
  };
  await eventually(
    () =>
      ask(b, { "user.id": 9 }, USER).then(
        () => true,
        () => false,
      ),
    "the other node serves",
  );
  await both(1);
  await both(2);
  const answer = await remove(b, { namespace: "user", keys: ["1"] });
  expect(answer).toMatchObject({ done: true, waitingNodes: 0, offlineValues: 4n });
  expect(["a", "b"].map((name) => [holds(name, 1), holds(name, 2)])).toEqual([
    [false, true],
    [false, true],
  ]);
  await b.server.stop();
  expect(await remove(a, { namespace: "user", keys: ["2"] })).toMatchObject({ done: true });
  expect(["a", "b"].map((name) => holds(name, 2))).toEqual([false, true]);
  await cluster.start("b");
  await eventually(() => !holds("b", 2), "the node deletes what was deleted while it was off");
}, 300_000);

test("a server that is killed on the way deletes the rest when it is back, and takes in nothing older", async () => {
  using folder = new TempFolder();
  const data = join(folder.path, "data");
  const keys = Array.from({ length: 600 }, (_, n) => String(n));
  let credentials: SpawnedServer["credentials"] | undefined;
  {
    await using server = await TestServer.start(folder.path);
    await server.server.ready;
    credentials = server.credentials;
    expectLive(await deploy(server, TEAMS));
    const token = await server.token();
    const response = await fetch(`${server.url}/v1/query/bulk`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ inputs: { "user.id": keys.map(Number) }, outputs: USER }),
    });
    expect(response.status).toBe(200);
  }
  const held = () => Object.keys(storedIn(data).offline).filter((name) => name.startsWith("user.name ")).length;
  expect(held()).toBe(keys.length);
  await using killed = await spawnServer(folder.path, credentials);
  const token = async () => {
    const answer = await fetch(`${killed.url}/v1/oauth/token`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_id: credentials?.clientId,
        client_secret: credentials?.clientSecret,
        grant_type: "client_credentials",
      }),
    });
    return ((await answer.json()) as { access_token: string }).access_token;
  };
  const calling = fetch(`${killed.url}/svc.v1.FeatureDataService/DeleteValues`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${await token()}` },
    body: JSON.stringify({ selection: { namespace: "user", keys } }),
  }).catch(() => undefined);
  const recorded = () => {
    using db = new Database(join(data, "meta.db"), { readonly: true });
    return db.query<{ removed: string }, []>("select removed from deletion").get();
  };
  await eventually(() => recorded() !== null, "the deletion is recorded");
  await killed.kill();
  await calling;
  const before = new Date(Date.now() - 60_000).toISOString();
  await using server = await TestServer.start(folder.path, { credentials });
  await server.server.ready;
  await eventually(() => held() === 0 && recorded()?.removed !== "{}", "the rest is deleted");
  await ask(server, { "user.id": 5 }, USER, { now: before });
  await ask(server, { "user.id": 700 }, USER);
  await eventually(() => storedIn(data).offline["user.name 700"] === 1, "what was asked after it is stored");
  expect(held()).toBe(1);
}, 300_000);
