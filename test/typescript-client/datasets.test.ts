/** Offline queries and datasets by the TypeScript client, of a real server. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { QueryError, SvcClient } from "../../src/typescript-client/index.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../server/deployments/deploying.ts";

const folder = new TempFolder();
let server: TestServer;
let client: SvcClient;
beforeAll(async () => {
  server = await TestServer.start(folder.path);
  expectLive(await deploy(server, GREETING));
  client = new SvcClient({ apiServer: server.url, ...server.credentials });
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function asked(ids: readonly number[]): Promise<string> {
  const { id } = await client.beginOfflineQuery({
    inputs: { "user.id": ids },
    outputs: ["user.greeting"],
    recompute: true,
    datasetName: "greetings",
  });
  await client.waitForOfflineQuery(id);
  return id;
}

test("rows of an offline query, and the dataset of several, with its files", async () => {
  const first = await asked([1, 2]);
  const second = await asked([3]);
  expect((await client.offlineQueryRows(first)).map((row) => row["user.greeting"])).toEqual(["hello user 1", "hello user 2"]);
  const dataset = await client.getDataset("greetings");
  expect(dataset).toMatchObject({ name: "greetings", createdAt: expect.stringMatching(/^\d{4}-.*Z$/) });
  expect(dataset.revisions.map(({ number, originId, rows, state }) => [number, originId, rows, state])).toEqual([
    [2, second, 1, "complete"],
    [1, first, 2, "complete"],
  ]);
  expect(dataset.revision).toEqual(dataset.revisions[0]);
  const old = dataset.revisions[1]?.id ?? "";
  expect((await client.getDataset(old)).revision?.number).toBe(1);
  const [file] = (await client.datasetFiles(old)).filter(({ kind }) => kind === "output");
  if (!file) throw new Error("there is no file of rows");
  const content = await client.downloadDatasetFile(file);
  expect([new TextDecoder().decode(content.slice(0, 4)), content.length, file.rows]).toEqual(["PAR1", file.bytes, 2]);
  const damaged = client.downloadDatasetFile({ ...file, sha256: "0".repeat(64) });
  await expect(damaged).rejects.toThrow("came damaged");
  const error = await client.getDataset("nothing").catch((thrown: unknown) => thrown);
  expect([error instanceof QueryError, (error as QueryError).status]).toEqual([true, 404]);
}, 300_000);
