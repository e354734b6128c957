/** Values of deleted rows in deliveries to webhooks, on a real server with a real receiver. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { FeatureDataService } from "../../../gen/svc/v1/feature_data_pb.ts";
import { WebhookService } from "../../../gen/svc/v1/webhook_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { type Receiver, startReceiver } from "../webhooks/receiver.ts";
import { ask } from "./asking.ts";

interface Told {
  readonly values: readonly { readonly key: unknown; readonly value: unknown }[];
  readonly omitted: number;
}

let folder: TempFolder;
let server: TestServer;
let receiver: Receiver;

beforeAll(async () => {
  folder = new TempFolder();
  receiver = startReceiver();
  receiver.answer(() => new Response(null, { status: 500 }));
  server = await TestServer.start(folder.path, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, SVC_WEBHOOK_ALLOW: "127.0.0.1/32" },
  });
  await server.server.ready;
  expectLive(await deploy(server, GREETING));
  await server.client(WebhookService).createWebhook({ name: "w", url: receiver.url, subscriptions: ["feature.computed:user.name"] });
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  receiver.stop();
  folder[Symbol.dispose]();
});

/** What the deliveries in the file would tell, by state. */
function kept(): readonly (Told & { readonly state: string })[] {
  using db = new Database(join(folder.path, "data", "meta.outbox.db"), { readonly: true });
  return db
    .query<{ state: string; payload: string }, []>("select state, payload from job order by seq")
    .all()
    .map(({ state, payload }) => ({ state, ...(JSON.parse(payload) as { readonly payload: Told }).payload }));
}

test("a delivery that waits loses the values of deleted rows, which are counted, and is made without them", async () => {
  for (const id of [1, 2]) {
    await ask(server, { "user.id": id }, ["user.name"]);
    await eventually(() => receiver.received.length >= id, "the event is tried");
  }
  await eventually(() => kept().every(({ state }) => state === "queued"), "the attempts have failed");
  expect(kept().map(({ values }) => values.map(({ key }) => key))).toEqual([[1], [2]]);
  const { deletion } = await server.client(FeatureDataService).deleteValues({ selection: { namespace: "user", keys: ["1"] } });
  expect(deletion).toMatchObject({ done: true, webhookValues: 1n });
  expect(kept().map(({ values, omitted }) => [values.map(({ key }) => key), omitted])).toEqual([
    [[], 1],
    [[2], 0],
  ]);
  receiver.received.length = 0;
  receiver.answer(() => new Response(null, { status: 204 }));
  await eventually(() => kept().every(({ state }) => state === "succeeded"), "the deliveries are made");
  const told = receiver.received.map(({ body }) => (JSON.parse(body) as { readonly payload: Told }).payload);
  expect(told.map(({ omitted }) => omitted).sort()).toEqual([0, 1]);
  expect(told.flatMap(({ values }) => values.map(({ key }) => key))).toEqual([2]);
  // The other one, now that it was made: it can be redelivered.
  await server.client(FeatureDataService).deleteValues({ selection: { namespace: "user", keys: ["2"] } });
  expect(kept().map(({ values, omitted }) => [values, omitted])).toEqual([
    [[], 1],
    [[], 1],
  ]);
}, 300_000);
