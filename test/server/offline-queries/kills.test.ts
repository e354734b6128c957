/** Offline queries and a server that is killed, or told to end them: all of an answer, or nothing. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import { OfflineQueryService, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import { SqlFormat, SqlService } from "../../../gen/svc/v1/sql_pb.ts";
import { msToTimestamp } from "../../../src/domain/proto-time.ts";
import { CHUNK_ROWS } from "../../../src/server/query/spine/spine-run.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { runs, seed } from "../../harness/seed.ts";
import { clientOf, type SpawnedServer, spawnServer } from "../../harness/spawned-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { answerOf, column, endOf, historyProject, START } from "./worlds.ts";

const ROWS = 300;
/** Rows of more than one part that is stored. */
const MANY = CHUNK_ROWS * 2 + 5;
/** Moments of kills and cancels, in milliseconds after the query was begun. */
const MOMENTS = Array.from({ length: runs(4, 60) }, (_, round) => (seed + round * 337) % 1_200);

let folder: TempFolder;
let token: string;
let credentials: TestServer["credentials"];

beforeAll(async () => {
  folder = new TempFolder();
  const first = await TestServer.start(folder.path);
  expectLive(await deploy(first, historyProject(folder.path, [])));
  token = await first.token();
  credentials = first.credentials;
  await first[Symbol.asyncDispose]();
}, 300_000);
afterAll(() => folder[Symbol.dispose]());

const serviceOf = <S extends DescService>(service: S, server: SpawnedServer, bearer = token): Client<S> =>
  clientOf(service, server, bearer);
const IDS = Array.from({ length: ROWS }, (_, at) => at);
const request = (datasetName: string) => ({
  inputs: [column("user.id", IDS), column("user.score", IDS)],
  times: [msToTimestamp(START)],
  ...{ outputs: ["user.level"], recompute: true, numShards: 3, datasetName },
});
const objects = () =>
  readdirSync(join(folder.path, "data/objects"), { recursive: true, encoding: "utf8" }).filter((name) => /rev_[^/]*\/.+/.test(name));

test("a query is completed whenever the server is killed: every row once, in one revision", async () => {
  for (const [round, moment] of MOMENTS.entries()) {
    let id: string;
    {
      await using server = await spawnServer(folder.path, credentials);
      id = (await serviceOf(OfflineQueryService, server).startOfflineQuery(request("killed"))).query?.id ?? "";
      await Bun.sleep(moment);
      await server.kill();
    }
    await using server = await spawnServer(folder.path, credentials);
    const service = serviceOf(OfflineQueryService, server);
    const ended = await endOf(service, id);
    expect([ended.status, ended.error, ended.rows]).toEqual([OfflineQueryStatus.COMPLETED, "", BigInt(ROWS)]);
    const { rows } = await answerOf(server, service, id, folder.path);
    expect(rows.map((row) => [row["user.id"], row["user.level"]])).toEqual(IDS.map((user) => [user, user * 100]));
    const { revisions } = await serviceOf(DatasetService, server).getDataset({ dataset: "killed" });
    expect(revisions.length).toBe(round + 1);
    await server.kill();
  }
}, 300_000);

test("what a shard stores offline is stored once, although its server is killed in the middle", async () => {
  using own = new TempFolder();
  const go = join(own.path, "go");
  const files = {
    "features.py": `import os, time
from svc import online
from svc.features import features

@features
class User:
    id: int
    level: int

@online(translate=False)
def get_level(id: User.id) -> User.level:
    while id == ${MANY - 1} and not os.path.exists(${JSON.stringify(go)}):
        time.sleep(0.01)
    return id * 2
`,
  };
  const first = await TestServer.start(own.path);
  expectLive(await deploy(first, files));
  const [ownToken, ownCredentials] = [await first.token(), first.credentials];
  await first[Symbol.asyncDispose]();
  const of = <S extends DescService>(service: S, server: SpawnedServer) => serviceOf(service, server, ownToken);
  const storedIn = async (server: SpawnedServer): Promise<number> => {
    const pieces: Uint8Array[] = [];
    const statement = "select count(*) as n from historical.user.level";
    for await (const { part } of of(SqlService, server).runSql({ statement, format: SqlFormat.JSON }))
      if (part.case === "piece") pieces.push(part.value);
    return (JSON.parse(Buffer.concat(pieces).toString()) as { n: number }).n;
  };
  const ids = Array.from({ length: MANY }, (_, at) => at);
  let id = "";
  {
    await using server = await spawnServer(own.path, ownCredentials);
    const started = await of(OfflineQueryService, server).startOfflineQuery({
      ...{ inputs: [column("user.id", ids)], times: [msToTimestamp(START)], outputs: ["user.level"] },
      ...{ recompute: true, storeOffline: true, numShards: 1 },
    });
    id = started.query?.id ?? "";
    await eventually(async () => (await storedIn(server).catch(() => 0)) > 0, "a part of the values is stored");
    expect(await storedIn(server)).toBeLessThan(MANY);
    await server.kill();
  }
  await Bun.write(go, "");
  await using server = await spawnServer(own.path, ownCredentials);
  const ended = await endOf(of(OfflineQueryService, server), id);
  expect([ended.status, ended.rows]).toEqual([OfflineQueryStatus.COMPLETED, BigInt(MANY)]);
  expect(await storedIn(server)).toBe(MANY);
  await server.kill();
}, 300_000);

test("of a query that is cancelled at any moment neither a revision nor a file stays", async () => {
  await using server = await spawnServer(folder.path, credentials);
  const service = serviceOf(OfflineQueryService, server);
  const before = objects().sort();
  for (const moment of MOMENTS) {
    const { query } = await service.startOfflineQuery(request("cancelled"));
    const id = query?.id ?? "";
    await Bun.sleep(moment);
    const cancelled = await service.cancelOfflineQuery({ id }).catch(() => undefined);
    const ended = await endOf(service, id);
    if (!cancelled) expect(ended.status).toBe(OfflineQueryStatus.COMPLETED);
    else {
      expect(ended.status).toBe(OfflineQueryStatus.CANCELED);
      await eventually(() => objects().every((name) => before.includes(name)), "its files are removed");
    }
    before.splice(0, before.length, ...objects());
  }
  await server.kill();
}, 300_000);
