/** The outbox in its thread: real time, real files, and a receiver on this machine. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants, getPriority } from "node:os";
import { join } from "node:path";
import { Webhook as Verifier } from "standardwebhooks";
import { systemClock } from "../../../src/context/system-clock.ts";
import { createSealer } from "../../../src/server/access/sealing.ts";
import { createLog } from "../../../src/server/log.ts";
import type { Outbox } from "../../../src/server/webhooks/outbox.ts";
import { createOutboxThread } from "../../../src/server/webhooks/outbox-thread.ts";
import { type Webhook, webhookSecrets } from "../../../src/server/webhooks/webhook.ts";
import { eventually } from "../../harness/eventually.ts";
import { lacksRight } from "../../harness/needs.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { type Receiver, startReceiver } from "./receiver.ts";

const ENV = "env_1";
const SECRET = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0";
const KEYS = [{ id: "k", secret: new Uint8Array(32).fill(7) }];

let folder: TempFolder;
let receiver: Receiver;
let lines: string[];
let webhook: Webhook | undefined;
let found: () => Promise<Webhook | undefined>;
const opened: Outbox[] = [];

beforeEach(async () => {
  folder = new TempFolder();
  receiver = startReceiver();
  lines = [];
  const secret = (await webhookSecrets(createSealer(KEYS), ENV).sealSecret("s", SECRET)) ?? "";
  const content = { url: receiver.url, subscriptions: ["query.run"], sealedAs: "s", secret, headers: {} };
  webhook = { id: "whk_1", scope: ENV, name: "ops", content, revision: 1, createdAt: 0, updatedAt: 0 };
  found = async () => webhook;
});
afterEach(async () => {
  for (const outbox of opened.splice(0)) await outbox.close();
  receiver.stop();
  folder[Symbol.dispose]();
});

const path = () => join(folder.path, "meta.outbox.db");
function open(node = "a"): Outbox {
  const outbox = createOutboxThread({
    place: { path: path(), programVersion: "1" },
    keys: KEYS,
    allowed: ["127.0.0.0/8"],
    node,
    version: "v1",
    find: () => found(),
    clock: systemClock,
    log: createLog({ write: (line) => void lines.push(line), clock: systemClock }),
  });
  opened.push(outbox);
  return outbox;
}
const to = () => ({ id: "whk_1", environmentId: ENV, url: receiver.url });
const event = (key: string) => ({ subscription: "query.run", payload: JSON.stringify({ key }), at: 0, key });
const queue = (outbox: Outbox, ...keys: string[]) => outbox.enqueue(to(), keys.map(event));
const states = async (outbox: Outbox) => (await outbox.list({ environmentId: ENV, limit: 1_000 })).map(({ state }) => state);
const keysReceived = () => receiver.received.map(({ body }) => (JSON.parse(body) as { payload: { key: string } }).payload.key).sort();

test("nothing is made as long as nothing is delivered", async () => {
  const outbox = open();
  await outbox.start();
  await outbox.purge();
  await outbox.forget(ENV);
  expect([await states(outbox), await outbox.delivery("job_1")]).toEqual([[], undefined]);
  expect(existsSync(path())).toBe(false);
});

const isYielding = getPriority() >= constants.priority.PRIORITY_BELOW_NORMAL;
test.skipIf(process.platform !== "linux" || lacksRight("a usual priority", !isYielding))(
  "its thread runs when no other wants to",
  async () => {
    const yielding = () =>
      readdirSync("/proc/self/task").filter(
        (id) => readFileSync(`/proc/self/task/${id}/stat`, "latin1").split(") ")[1]?.split(" ")[16] === "10",
      );
    const before = yielding();
    await queue(open(), "1");
    expect(yielding().length).toBeGreaterThan(before.length);
    expect(yielding()).not.toContain(String(process.pid));
  },
);

test("delivers what is queued, signed, and nothing before it is told to begin", async () => {
  const outbox = open();
  expect([await queue(outbox, "1", "2"), await queue(outbox, "2")]).toEqual([2, 1]);
  expect([await states(outbox), receiver.received]).toEqual([["queued", "queued"], []]);
  await outbox.start();
  await eventually(async () => (await states(outbox)).every((state) => state === "succeeded"), "both are delivered");
  expect(keysReceived()).toEqual(["1", "2"]);
  for (const { body, headers } of receiver.received) new Verifier(SECRET).verify(body, headers);
});

test("asks for the webhook as it is by then; that it could not be read is no end of the delivery", async () => {
  const outbox = open();
  found = () => Promise.reject(new Error("the store is away"));
  await queue(outbox, "1");
  await outbox.start();
  await eventually(async () => (await outbox.list({ environmentId: ENV, limit: 1 }))[0]?.error === "the store is away", "it waits");
  expect(await states(outbox)).toEqual(["queued"]);
  found = async () => undefined;
  await queue(outbox, "2");
  await eventually(async () => (await states(outbox))[0] === "failed", "no webhook, no delivery");
  expect(receiver.received).toEqual([]);
});

test("what was under way when it closed is delivered by the next one", async () => {
  const held: ((answer: Response) => void)[] = [];
  receiver.answer(() => new Promise((resolve) => held.push(resolve)));
  const first = open();
  await first.start();
  await queue(first, "1");
  await eventually(() => held.length === 1, "it is under way");
  await first.close();
  for (const answer of held) answer(new Response());
  receiver.answer(() => new Response());
  const next = open();
  await next.start();
  await eventually(async () => (await states(next))[0] === "succeeded", "it is delivered");
});

test("two nodes that share it deliver each event once, and what one queued is found by the other", async () => {
  const nodes = [open("a"), open("b")];
  for (const node of nodes) await node.start();
  const keys = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, "0"));
  await Promise.all(keys.map((key, n) => queue(nodes[n % 2] as Outbox, key)));
  for (const node of nodes)
    await eventually(async () => (await states(node)).filter((state) => state === "succeeded").length === keys.length, "all are delivered");
  expect(keysReceived()).toEqual(keys);
  await nodes[0]?.forget(ENV);
  expect(await states(nodes[1] as Outbox)).toEqual([]);
});

test("a damaged file is set aside, which is said, and begun anew", async () => {
  writeFileSync(path(), Buffer.alloc(5_000, "x"));
  const outbox = open();
  await outbox.start();
  await queue(outbox, "1");
  await eventually(async () => (await states(outbox))[0] === "succeeded", "it is delivered");
  expect(existsSync(`${path()}.damaged`)).toBe(true);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: "error", message: expect.stringContaining("set aside") }]);
});
