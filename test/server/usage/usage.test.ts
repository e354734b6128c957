/** The count of queries against the number that this test made. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import { TrafficService } from "../../../gen/svc/v1/traffic_pb.ts";
import { UsageGrouping, UsageService } from "../../../gen/svc/v1/usage_pb.ts";
import { dayOf } from "../../../src/domain/day.ts";
import { toProtoValue } from "../../../src/domain/proto-value.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { NO_USE } from "../../../src/server/stores/metadata/usage.ts";
import { createUsage, type Grouping } from "../../../src/server/usage/usage.ts";
import { exchange } from "../../harness/browser-session.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestClock, TestServer } from "../../harness/running-server.ts";
import { type SpawnedServer, spawnServer } from "../../harness/spawned-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { Cluster, until } from "../nodes/two-nodes.ts";

/** Queries, those of them that were for many rows, rows, and queries with errors. */
interface Counted {
  readonly queries: number;
  readonly bulk: number;
  readonly rows: number;
  readonly errors: number;
}

const NONE: Counted = { queries: 0, bulk: 0, rows: 0, errors: 0 };

/** What a server says was counted, of all days. */
async function countedBy(url: string, token: string): Promise<Counted> {
  const transport = createConnectTransport({ baseUrl: url });
  const client = createClient(UsageService, transport);
  const { usage } = await client.listUsage({ grouping: UsageGrouping.CLUSTER }, { headers: { authorization: `Bearer ${token}` } });
  return usage.reduce(
    (sum, { queries, bulkQueries, rows, errors }) => ({
      queries: sum.queries + Number(queries),
      bulk: sum.bulk + Number(bulkQueries),
      rows: sum.rows + Number(rows),
      errors: sum.errors + Number(errors),
    }),
    NONE,
  );
}

/** One of each kind of query, answered or refused, by Connect and by JSON. */
async function makeQueries({ url }: { readonly url: string }, token: string): Promise<Counted> {
  const ask = (path: string, body: object) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
  const one = { inputs: { "user.id": 1 }, outputs: ["user.greeting"] };
  expect((await ask("/v1/query/online", one)).status).toBe(200);
  expect((await ask("/v1/query/online", { ...one, outputs: ["user.nothing"] })).status).toBe(400);
  const bulk = { inputs: { "user.id": [1, 2, 3] }, outputs: ["user.greeting"] };
  expect((await ask("/v1/query/bulk", bulk)).status).toBe(200);
  const client = createClient(QueryService, createConnectTransport({ baseUrl: url }));
  const headers = { authorization: `Bearer ${token}` };
  const inputs = [{ feature: "user.id", value: { case: "typed" as const, value: toProtoValue(4) } }];
  const { data } = await client.query({ inputs, outputs: ["user.greeting"] }, { headers });
  expect(data.length).toBe(1);
  await client.query({ inputs, outputs: ["user.nothing"] }, { headers }).catch(() => undefined);
  return { queries: 5, bulk: 1, rows: 5, errors: 2 };
}

const plus = (a: Counted, b: Counted): Counted => ({
  ...{ queries: a.queries + b.queries, bulk: a.bulk + b.bulk, rows: a.rows + b.rows, errors: a.errors + b.errors },
});

test("every query counts once, by kind and result, also over a restart", async () => {
  using folder = new TempFolder();
  let server = await TestServer.start(folder.path);
  const { credentials } = server;
  expectLive(await deploy(server, GREETING));
  let made = NONE;
  for (let round = 0; round < 3; round++) {
    made = plus(made, await makeQueries(server, await server.token()));
    if (round > 0) expect(await countedBy(server.url, await server.token())).toEqual(made);
    await server.server.stop();
    server = await TestServer.start(folder.path, { credentials });
    await server.server.ready;
    expect(await countedBy(server.url, await server.token())).toEqual(made);
  }
  await server.server.stop();
}, 300_000);

test("a copy of a query that runs on a mirror does not count", async () => {
  using folder = new TempFolder();
  await using server = await TestServer.start(folder.path);
  const mirrored = join(folder.path, "mirrored");
  const fresh = { ...GREETING, "features.py": (GREETING["features.py"] ?? "").replace('(max_staleness="1h")', "") };
  expectLive(await deploy(server, fresh, { tags: ["blue"] }));
  const noting = `from svc import online
from features import User

@online
def get_name(id: User.id) -> User.name:
    with open(${JSON.stringify(mirrored)}, "a") as stream:
        stream.write("1")
    return "user"
`;
  expectLive(await deploy(server, { ...fresh, "resolvers.py": noting }, { tags: ["green"], noPromote: true }));
  await server.client(TrafficService).setTraffic({ weights: { blue: 100, green: 0 }, mirrorWeights: { green: 100 } });
  for (let id = 0; id < 3; id++) {
    const inputs = [{ feature: "user.id", value: { case: "typed" as const, value: toProtoValue(id) } }];
    await server.client(QueryService).query({ inputs, outputs: ["user.name"] });
  }
  await eventually(() => existsSync(mirrored) && readFileSync(mirrored, "utf8") === "111", "every query runs on the mirror too");
  expect(await countedBy(server.url, await server.token())).toEqual({ queries: 3, bulk: 0, rows: 3, errors: 0 });
});

test("two nodes on one store count together, and what one has not written yet comes with its end", async () => {
  await using cluster = new Cluster();
  const a = await cluster.start("a");
  const b = await cluster.start("b");
  expectLive(await deploy(a, GREETING));
  const token = await a.token();
  const ask = (server: TestServer) =>
    fetch(`${server.url}/v1/query/online`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.greeting"] }),
    });
  await until(
    async () => (await ask(b)).ok,
    (isLive) => isLive,
  );
  const before = await until(
    async () => (await countedBy(b.url, token)).queries,
    (queries) => queries > 0,
  );
  let made = before;
  for (const server of [a, b, b, a, b]) {
    expect((await ask(server)).ok).toBe(true);
    made++;
    const { queries } = await countedBy(server.url, token);
    expect([queries <= made, queries >= before]).toEqual([true, true]);
  }
  await countedBy(a.url, token);
  expect((await countedBy(b.url, token)).queries).toBe(made);
  await ask(b);
  await b.server.stop();
  expect((await countedBy(a.url, token)).queries).toBe(made + 1);
}, 300_000);

test("killed again and again: what was counted is there, and never more than was asked", async () => {
  using folder = new TempFolder();
  const first = await TestServer.start(folder.path);
  const { credentials } = first;
  expectLive(await deploy(first, GREETING));
  await first.server.stop();
  const tokenOf = (server: SpawnedServer) => exchange(server.url, credentials.clientId, credentials.clientSecret);
  let asked = 0;
  let told = 0;
  for (let round = 0; round < 3; round++) {
    await using server = await spawnServer(folder.path, credentials);
    const token = await tokenOf(server);
    const answered: Promise<unknown>[] = [];
    const ask = () => {
      asked++;
      return fetch(`${server.url}/v1/query/online`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify({ inputs: { "user.id": 1 }, outputs: ["user.greeting"] }),
      }).catch(() => undefined);
    };
    await until(ask, (answer) => answer?.ok === true);
    const before = await countedBy(server.url, token);
    expect([before.queries > told, before.queries <= asked]).toEqual([true, true]);
    told = before.queries;
    const looks: Promise<void>[] = [];
    const look = async () => {
      const counted = await countedBy(server.url, token).catch(() => undefined);
      if (counted) told = Math.max(told, counted.queries);
    };
    for (let n = 0; n < 200; n++) {
      answered.push(ask());
      if (n % 20 === 0) looks.push(look());
    }
    await Promise.race(answered);
    await Promise.race(looks);
    await server.kill();
    await Promise.all([...answered, ...looks]);
    await using again = await spawnServer(folder.path, credentials);
    const after = await countedBy(again.url, await tokenOf(again));
    expect([after.queries >= told, after.queries <= asked]).toEqual([true, true]);
    told = after.queries;
    await again.kill();
  }
}, 300_000);

test("what a removed environment used stays, and takes from bundles; another team sees nothing of it", async () => {
  using folder = new TempFolder();
  const clock = new TestClock();
  const metadata = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1.0.0" });
  await metadata.bootstrap({
    team: { id: "team_1", name: "team" },
    project: { id: "prj_1", name: "project" },
    environment: { id: "env_1", name: "default" },
    client: { id: "client_1", name: "first", secretHash: new Uint8Array([1]), permissions: [] },
    now: clock.now(),
  });
  const day = dayOf(clock.now());
  for (const environmentId of ["env_1", "env_gone"])
    await metadata.usage.add([{ ...NO_USE, day, environmentId, resourceGroup: "default", kind: "query", queries: 1_000_000 }]);
  const bundle = { id: "b", purchaseDate: day, credits: 10, price: "", expiresOn: undefined };
  const idle = async () => undefined;
  const usage = createUsage({
    ...{ metadata, clock, queryCounts: { flush: idle }, storage: { settle: idle }, processes: async () => ({ measure: idle }) },
    settings: { rates: [], machine: undefined, perMillionQueries: 3, perGibMonth: 0, bundles: [bundle] },
    labels: async () => new Map([["env_1", { team: "search" }]]),
  });
  const labelsFor = async (teamId: string, grouping: Grouping) => {
    const totals = await usage.totals(teamId, { from: undefined, until: undefined, period: "month", grouping });
    return totals.map(({ label, credits }) => [label, credits]);
  };
  expect(await labelsFor("team_1", "cluster")).toEqual([
    ["(removed)/default", 3],
    ["default/default", 3],
  ]);
  expect(await labelsFor("team_1", { label: "team" })).toEqual([
    ["(none)", 3],
    ["search", 3],
  ]);
  expect(await labelsFor("team_2", "cluster")).toEqual([]);
  expect(await usage.bundles("team_1")).toEqual([{ bundle, remaining: 4 }]);
  const figures = { ...NO_USE, environmentId: "env_1", kind: "query" as const };
  await metadata.usage.add(Array.from({ length: 20_000 }, (_, n) => ({ ...figures, day, resourceGroup: `group-${n}` })));
  await expect(labelsFor("team_1", "cluster")).rejects.toMatchObject({ kind: "invalid_argument" });
  expect((await labelsFor("team_1", "kind")).length).toBe(1);
  await metadata.close();
});
