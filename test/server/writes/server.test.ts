import { expect, test } from "bun:test";
import { join } from "node:path";
import { createSqliteOfflineStore } from "../../../src/server/stores/offline/sqlite.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING, type ProjectFiles } from "../deployments/deploying.ts";

test("what a server computed is in the offline store when it has stopped; what a branch computed is not", async () => {
  using folder = new TempFolder();
  const server = await TestServer.start(folder.path);
  const live = await deploy(server, GREETING);
  expectLive(live);
  expectLive(await deploy(server, GREETING, { branch: "dev" }));
  const query = async (id: number, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { authorization: `Bearer ${await server.token()}`, ...headers },
      body: JSON.stringify({ inputs: { "user.id": id }, outputs: ["user.greeting"] }),
    });
    expect(await response.json()).toMatchObject({ data: [{ value: `hello user ${id}` }] });
  };
  await query(3);
  await query(3);
  await query(4);
  await query(5, { "svc-branch": "dev" });
  await server.server.stop();
  expect(server.log.filter(({ level }) => level === "error")).toEqual([]);
  const store = createSqliteOfflineStore({ path: join(folder.path, "data", "offline.db"), programVersion: "1", now: Date.now });
  const { rows } = await store.query("select fid from version where name = 'greeting'");
  const featureId = Number(rows[0]?.[0]);
  const observations = await store.scan(featureId, { limit: 99 });
  expect(observations.map(({ key, value, resolver, deploymentId }) => [key, value, resolver, deploymentId])).toEqual([
    ["i:3", "hello user 3", "resolvers.greet", live.id],
    ["i:4", "hello user 4", "resolvers.greet", live.id],
  ]);
  expect(await store.tableNames(featureId)).toEqual([`obs_${featureId}_user__greeting__v1`]);
  await store.close();
}, 300_000);

/** A project whose resolvers count their calls in files of a folder. */
const shop = (folder: string): ProjectFiles => ({
  "features.py": `from svc.features import DataFrame, feature, features, has_many

@features
class Txn:
    id: int
    user_id: "User.id"
    amount: float

@features(max_staleness="1h")
class User:
    id: int
    run: int = feature(store_offline=False)
    name: str = feature(store_online=False)
    txns: DataFrame[Txn] = has_many(lambda: Txn.user_id == User.id, max_staleness="1h")
    spent: float = feature(max_staleness="0s")
`,
  "resolvers.py": `import os
from svc import online
from svc.features import DataFrame
from features import Txn, User

def count(name):
    path = os.path.join(${JSON.stringify(folder)}, name)
    with open(path, "a") as file:
        file.write(".")
    return os.path.getsize(path)

@online
def get_run(id: User.id) -> User.run:
    return count("run")

@online
def get_name(id: User.id) -> User.name:
    return f"name {count('name')}"

@online
def get_txns(id: User.id) -> User.txns[Txn.id, Txn.amount]:
    return [Txn(id=n, amount=n * 1.5) for n in range(count("txns"))]

@online
def spend(amounts: User.txns.amount) -> User.spent:
    return sum(amounts)
`,
});

test("what a feature says of storing holds, and rows of a relation are served again after a restart", async () => {
  using folder = new TempFolder();
  using counts = new TempFolder();
  let server = await TestServer.start(folder.path);
  expectLive(await deploy(server, shop(counts.path)));
  const query = async () => {
    const response = await fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { authorization: `Bearer ${await server.token()}` },
      body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.run", "user.name", "user.spent", "user.txns.amount"] }),
    });
    return ((await response.json()) as { data: { value: unknown }[] }).data.map(({ value }) => value);
  };
  expect(await query()).toEqual([1, "name 1", 0, [0]]);
  expect(await query()).toEqual([1, "name 2", 0, [0]]);
  await server.server.stop();
  server = await TestServer.start(folder.path, { credentials: server.credentials });
  expect(await query()).toEqual([1, "name 3", 0, [0]]);
  await server.server.stop();
  const store = createSqliteOfflineStore({ path: join(folder.path, "data", "offline.db"), programVersion: "1", now: Date.now });
  expect((await store.query("select name from version order by name")).rows.map(([name]) => name)).toEqual(["name", "spent"]);
  await store.close();
}, 300_000);
