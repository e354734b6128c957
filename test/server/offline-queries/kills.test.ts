/** Offline queries and a server that is killed, or told to end them: all of an answer, or nothing. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { DatasetService } from "../../../gen/svc/v1/dataset_pb.ts";
import { OfflineQueryService, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import { msToTimestamp } from "../../../src/domain/proto-time.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { runs, seed } from "../../harness/seed.ts";
import { type SpawnedServer, spawnServer } from "../../harness/spawned-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { answerOf, column, endOf, historyProject, START } from "./worlds.ts";

const ROWS = 300;
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
}, 120_000);
afterAll(() => folder[Symbol.dispose]());

const serviceOf = <S extends Parameters<typeof createClient>[0]>(service: S, { url }: SpawnedServer): Client<S> =>
  createClient(
    service,
    createConnectTransport({
      baseUrl: url,
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", `Bearer ${token}`);
          return next(request);
        },
      ],
    }),
  );
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
      using server = await spawnServer(folder.path, credentials);
      id = (await serviceOf(OfflineQueryService, server).startOfflineQuery(request("killed"))).query?.id ?? "";
      await Bun.sleep(moment);
      await server.kill();
    }
    using server = await spawnServer(folder.path, credentials);
    const service = serviceOf(OfflineQueryService, server);
    const ended = await endOf(service, id);
    expect([ended.status, ended.error, ended.rows]).toEqual([OfflineQueryStatus.COMPLETED, "", BigInt(ROWS)]);
    const { rows } = await answerOf(server, service, id, folder.path);
    expect(rows.map((row) => [row["user.id"], row["user.level"]])).toEqual(IDS.map((user) => [user, user * 100]));
    const { revisions } = await serviceOf(DatasetService, server).getDataset({ dataset: "killed" });
    expect(revisions.length).toBe(round + 1);
    await server.kill();
  }
}, 180_000);

test("of a query that is cancelled at any moment neither a revision nor a file stays", async () => {
  using server = await spawnServer(folder.path, credentials);
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
}, 180_000);
