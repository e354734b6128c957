/**
 * `unique_on`, `partitioned_by` and `max_staleness` on a real server with real Python: runs,
 * offline queries and online queries against plain loops over the same rows.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Client } from "@connectrpc/connect";
import { OfflineQueryService, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import { ResolverRunService, ResolverRunState } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { answerOf, column, finish } from "../offline-queries/worlds.ts";
import { ended, history, storedOnline } from "./worlds.ts";

/** More users than a part of a run has, in 7 countries of which one has most of them. */
const USERS = 12_000;
const IDS = Array.from({ length: USERS }, (_, at) => at + 1);
const countryOf = (id: number): string => (id % 3 === 0 ? `c${id % 7}` : "large");
const SIZES = new Map<string, number>();
for (const id of IDS) SIZES.set(countryOf(id), (SIZES.get(countryOf(id)) ?? 0) + 1);

function project(path: string): Record<string, string> {
  return {
    "features.py": `from svc import DataFrame, offline, online
from svc.features import features
from svc.sources import SQLiteSource

people = SQLiteSource(name="people", path=${JSON.stringify(path)})

@features
class User:
    id: int
    country: str
    peers: int
    email: str
    visits: int

@online(partitioned_by=[User.country], max_staleness="2d")
def peers(users: DataFrame[User.id, User.country]) -> DataFrame[User.id, User.peers]:
    sizes = {}
    for user in users:
        sizes[user.country] = sizes.get(user.country, 0) + 1
    return DataFrame({User.id: [user.id for user in users], User.peers: [sizes[user.country] for user in users]})

@offline(unique_on=[User.email])
def emails() -> DataFrame[User.id, User.email]:
    return DataFrame({User.id: [1, 2, 3], User.email: ["a@example.com", "b@example.com", "a@example.com"]})
`,
    "countries.svc.sql": "-- resolves: User\n-- source: people\n-- max_staleness: infinity\nselect id, country from people\n",
    "visits.svc.sql":
      "-- resolves: User\n-- source: people\n-- type: offline\n-- unique_on: id\n" +
      "-- incremental: {mode: row, incremental_column: at}\nselect user_id as id, visits, at from visits\n",
  };
}

let folder: TempFolder;
let server: TestServer;
let service: Client<typeof ResolverRunService>;
let database: string;

beforeAll(async () => {
  folder = new TempFolder();
  database = join(folder.path, "people.db");
  using db = new Database(database);
  db.run("create table people (id integer primary key, country text)");
  db.run("create table visits (user_id integer, visits integer, at text)");
  const insert = db.prepare("insert into people values (?, ?)");
  db.transaction(() => {
    for (const id of IDS) insert.run(id, countryOf(id));
  })();
  server = await TestServer.start(folder.path);
  expectLive(await deploy(server, project(database)));
  service = server.client(ResolverRunService);
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function ran(resolver: string) {
  const { run } = await service.triggerResolver({ resolver });
  return ended(service, run?.id ?? "");
}

describe("partitioned_by", () => {
  test("leaves partitions whole in a run of more rows than a part has", async () => {
    expect(await ran("countries")).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: BigInt(USERS), error: "" });
    expect(await ran("peers")).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: BigInt(USERS), failedRows: 0n, error: "" });
    const stored = await storedOnline(server, "user.peers", [1, 2, 3, 6, 9, 12_000]);
    expect(Object.fromEntries(stored)).toEqual(Object.fromEntries([1, 2, 3, 6, 9, 12_000].map((id) => [id, SIZES.get(countryOf(id))])));
  }, 300_000);

  test("and in an offline query, whatever its shards", async () => {
    const offline = server.client(OfflineQueryService);
    const ids = IDS.slice(0, 10_500);
    const inputs = [column("user.id", ids), column("user.country", ids.map(countryOf))];
    const query = await finish(offline, { inputs, outputs: ["user.peers"], recompute: true, numShards: 3 } as never);
    expect([query.status, query.error, query.failedRows]).toEqual([OfflineQueryStatus.COMPLETED, "", 0n]);
    const { rows } = await answerOf(server, offline, query.id, folder.path);
    const sizes = new Map<string, number>();
    for (const id of ids) sizes.set(countryOf(id), (sizes.get(countryOf(id)) ?? 0) + 1);
    expect(rows.map((row) => [row["user.id"], row["user.peers"]])).toEqual(ids.map((id) => [id, sizes.get(countryOf(id)) ?? 0]));
  }, 300_000);
});

describe("unique_on", () => {
  test("fails a run of a function, and stores nothing", async () => {
    const run = await ran("emails");
    expect(run.state).toBe(ResolverRunState.FAILED);
    expect(run.error).toContain('emails: rows 1 and 3 have the same user.email ("a@example.com"), and unique_on says that no two rows do');
    expect(history(folder.path, "user.email")).toEqual([]);
  }, 300_000);

  test("fails an incremental run of a file by what it reads, which the next one reads again", async () => {
    using db = new Database(database);
    const visit = (id: number, visits: number, day: number) =>
      db.run("insert into visits values (?, ?, ?)", [id, visits, `2024-01-0${day} 00:00:00`]);
    visit(1, 5, 1);
    visit(2, 6, 2);
    expect(await ran("visits")).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 2n });
    visit(3, 7, 3);
    visit(3, 8, 4);
    const run = await ran("visits");
    expect(run.state).toBe(ResolverRunState.FAILED);
    expect(run.error).toContain("visits: rows 2 and 3 have the same user.id (3), and unique_on says that no two rows do");
    db.run("delete from visits where user_id = 3 and visits = 7");
    expect(await ran("visits")).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 2n });
    expect(history(folder.path, "user.visits").map(({ id, value }) => [id, value])).toContainEqual([3, 8]);
  }, 300_000);
});

test("max_staleness of a resolver has queries find what its runs stored", async () => {
  expect([...(await storedOnline(server, "user.country", [5, 6]))]).toEqual([
    [5, "large"],
    [6, "c6"],
  ]);
});
