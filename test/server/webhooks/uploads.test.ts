/** Uploaded values are told of as computed ones: of the features that are wanted, in parts, bounded. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { FeatureDataService, ValueFileFormat } from "../../../gen/svc/v1/feature_data_pb.ts";
import { WebhookService } from "../../../gen/svc/v1/webhook_pb.ts";
import { toProtoValue } from "../../../src/domain/proto-value.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

interface Told {
  readonly upload_id: string;
  readonly values: readonly { readonly fqn: string; readonly key: unknown; readonly value: unknown; readonly resolver: string }[];
  readonly omitted: number;
}

let folder: TempFolder;
let server: TestServer;
let receiver: Receiver;

beforeAll(async () => {
  folder = new TempFolder();
  receiver = startReceiver();
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

const data = () => server.client(FeatureDataService);
const told = (): Told[] => receiver.received.map(({ body }) => (JSON.parse(body) as { payload: Told }).payload);
const upload = (columns: Record<string, readonly FeatureValue[]>) =>
  data().uploadValues({
    columns: Object.entries(columns).map(([name, values]) => ({ name, values: values.map((value) => toProtoValue(value)) })),
  });

test("a call is one event, with the values of the features that are wanted, and the number of the others", async () => {
  receiver.received.length = 0;
  await upload({ "user.id": [1, 2], "user.greeting": ["not", "wanted"] });
  await upload({ "user.id": [1, 2], "user.name": ["Ann", "Bo"], "user.greeting": ["not", "wanted"] });
  await eventually(() => told().length > 0, "the event arrives");
  const values = [
    { fqn: "user.name", key: 1, value: "Ann", resolver: "" },
    { fqn: "user.name", key: 2, value: "Bo", resolver: "" },
  ];
  expect(told()).toMatchObject([{ values, omitted: 0 }]);
  receiver.received.length = 0;
  const ids = Array.from({ length: 5_000 }, (_, id) => id);
  await upload({ "user.id": ids, "user.name": ids.map(() => "n") });
  await eventually(() => told().length > 0, "the event arrives");
  const [many] = told();
  expect(many?.values.length).toBeWithin(1, 1_001);
  expect((many?.values.length ?? 0) + (many?.omitted ?? 0)).toBe(5_000);
});

test("a file is told of in the parts in which it is stored", async () => {
  receiver.received.length = 0;
  const csv = `user.id,user.name\n${Array.from({ length: 25_000 }, (_, id) => `${id},n${id}`).join("\n")}\n`;
  const sha256 = new Bun.CryptoHasher("sha256").update(csv).digest("hex");
  const { uploadId, url } = await data().announceValueFile({ sha256, sizeBytes: BigInt(csv.length) });
  expect((await fetch(new URL(url, server.url), { method: "PUT", body: csv })).status).toBe(201);
  const { upload: begun } = await data().uploadValueFile({ uploadId, format: ValueFileFormat.CSV });
  const sum = () => told().reduce((all, { omitted, values }) => all + omitted + values.length, 0);
  await eventually(() => sum() >= 25_000, "the events arrive");
  expect(sum()).toBe(25_000);
  expect(new Set(told().map((one) => one.upload_id))).toEqual(new Set([begun?.id ?? ""]));
}, 300_000);
