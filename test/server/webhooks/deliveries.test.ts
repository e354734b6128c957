/** The outbox: attempts, backoff, dead letters, bounds; by a clock that the test moves. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Webhook as Verifier } from "standardwebhooks";
import { createSealer, type Sealer } from "../../../src/server/access/sealing.ts";
import { DeletedValues, silencedBy } from "../../../src/server/deletions/deleted-values.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createLog } from "../../../src/server/log.ts";
import type { LiveDeployment } from "../../../src/server/query/live-deployment.ts";
import type { DeletionRecord } from "../../../src/server/stores/metadata/deletions.ts";
import type { OutboxQueue } from "../../../src/server/stores/metadata/outbox.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { openOutbox } from "../../../src/server/stores/metadata/sqlite-outbox.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { deliveryBackoffMs, MAX_ATTEMPTS, SLOTS_PER_HOST } from "../../../src/server/webhooks/delivery.ts";
import { MAX_UNQUEUED } from "../../../src/server/webhooks/events.ts";
import { createOutbox, MAX_WAITING } from "../../../src/server/webhooks/outbox.ts";
import type { Attempted, Outgoing, Send } from "../../../src/server/webhooks/send.ts";
import { createWebhooks, type Webhooks } from "../../../src/server/webhooks/webhooks.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { ManualClock } from "../jobs/manual-clock.ts";

const OK: Attempted = { status: 200, error: "", isFinal: false };
const BROKEN: Attempted = { status: 500, error: "the receiver answered 500", isFinal: false };
const OWNER = { permissions: ["admin"] };
const ENV = "env_1";
const SECRET = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0";
const DEPLOYMENT = { id: "dpl_1", environmentId: ENV, scope: "main" } as LiveDeployment;

let folder: TempFolder;
let store: MetadataStore;
let jobs: OutboxQueue;
let clock: ManualClock;
let lines: string[];
let sent: (Outgoing & { readonly at: number })[];
let answer: (outgoing: Outgoing) => Attempted | Promise<Attempted>;
let webhooks: Webhooks;
let deleted: DeletedValues;

/** Seals without a thread, so that nothing is under way when the clock is moved. */
const PLAIN: Sealer = { seal: async (text) => `sealed ${text}`, open: async (text) => text.slice("sealed ".length), isCurrent: () => true };

function open(sealer: Sealer = PLAIN): Webhooks {
  const log = createLog({ write: (line) => void lines.push(line), clock });
  const send: Send = async (outgoing) => {
    sent.push({ ...outgoing, at: clock.now() });
    return answer(outgoing);
  };
  return createWebhooks({
    outbox: (find) => createOutbox({ jobs, find, sealer, send, clock, log, node: "a", version: "v1" }),
    documents: store.documents,
    sealer,
    deleted,
    bus: createMemoryBus(),
    clock,
    log,
    version: "v1",
    allowed: [],
    send,
  });
}

beforeEach(() => {
  folder = new TempFolder();
  clock = new ManualClock();
  lines = [];
  sent = [];
  answer = () => OK;
  deleted = new DeletedValues();
  store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1", now: clock.now });
  jobs = openOutbox(store.outbox, () => clock.now());
  webhooks = open();
  webhooks.startDelivering();
});
afterEach(async () => {
  await close(webhooks);
  jobs.close();
  await store.close();
  folder[Symbol.dispose]();
});

async function close(one: Webhooks): Promise<void> {
  const closed = one.close();
  await clock.advance(20_000);
  await closed;
}

const create = async (fields: { name?: string; url?: string; subscriptions?: string[]; secret?: string } = {}, environment = ENV) =>
  (
    await webhooks.create(environment, OWNER, {
      name: "ops",
      url: "https://hooks.example.com/x",
      subscriptions: ["query.run"],
      secret: SECRET,
      ...fields,
    })
  ).webhook;
const facts = (queryId: string) => ({
  queryId,
  queryName: "",
  correlationId: "",
  startedAt: clock.now(),
  durationMs: 1,
  errorCount: 0,
  isRefused: false,
  traceparent: undefined,
});
const query = (id: string, deployment = DEPLOYMENT) => webhooks.events.watch(deployment)?.ended(facts(id));
const states = async () => (await webhooks.deliveries.list({ environmentId: ENV, limit: 5_000 })).map(({ state }) => state);

describe("a delivery", () => {
  test("is tried eight times over hours, always the same but for time and signature, and is then a dead letter", async () => {
    answer = () => BROKEN;
    await create();
    query("q1");
    await clock.advance(24 * 3_600_000);
    expect(sent.length).toBe(MAX_ATTEMPTS);
    expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
    expect(new Set(sent.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(sent.map(({ headers }) => headers["webhook-signature"])).size).toBe(MAX_ATTEMPTS);
    expect((sent.at(-1)?.at ?? 0) - (sent[0]?.at ?? 0)).toBeGreaterThan(3 * 3_600_000);
    const [dead] = await webhooks.deliveries.list({ environmentId: ENV, limit: 1 });
    expect(dead).toMatchObject({ state: "failed", attempts: MAX_ATTEMPTS, error: "the receiver answered 500" });
    expect((await store.jobs.attempts(dead?.id ?? "")).every(({ error }) => error === "the receiver answered 500")).toBe(true);
    expect(lines.join()).not.toContain("500");
  });

  test("keeps the last answer, of events with values its status alone, and forgets it with the delivery", async () => {
    answer = () => (sent.length < 2 ? { ...BROKEN, answer: "down" } : { ...OK, answer: `up ${"\ud83d\ude00".repeat(600)}` });
    await create();
    query("q1");
    await clock.advance(24 * 3_600_000);
    const get = async (permissions = ["settings.write"]) => {
      const [job] = await webhooks.deliveries.list({ environmentId: ENV, limit: 1 });
      return webhooks.deliveries.get(ENV, { permissions }, job?.id ?? "");
    };
    const { answer: kept, body } = await get();
    expect(body).toBe(sent[1]?.body ?? "");
    expect(kept).toMatchObject({ status: 200, isCut: true });
    expect(kept?.body).toStartWith("up \ud83d\ude00");
    expect(kept?.body.isWellFormed()).toBe(true);
    await expect(webhooks.deliveries.get("env_2", OWNER, (await get()).job.id)).rejects.toThrow("There is no delivery");
    await create({ name: "values", subscriptions: ["feature.computed"] });
    const [watched] = (await webhooks.list(ENV)).filter(({ name }) => name === "values");
    if (!watched) throw new Error("there is no webhook");
    const event = { subscription: "feature.computed", payload: "{}", at: clock.now(), since: clock.now(), key: "k" };
    await webhooks.deliveries.enqueue(watched, [event]);
    await clock.advance(60_000);
    expect((await get(["settings.write", "query.online"])).answer).toMatchObject({ status: 200, body: "", isCut: true });
    await expect(get()).rejects.toThrow("your client may not query them");
    const { job } = await get(["settings.write", "query.online"]);
    await webhooks.deliveries.forget(ENV);
    expect(jobs.answer(job.kind, job.idempotencyKey ?? "")).toBeUndefined();
  });

  test("is made when the receiver is there again, and is signed anew", async () => {
    answer = () => (sent.length < 3 ? BROKEN : OK);
    await create();
    query("q1");
    await clock.advance(3_600_000);
    expect([sent.length, await states()]).toEqual([3, ["succeeded"]]);
    const key = new Verifier(SECRET);
    for (const { headers, body, at } of sent)
      expect(headers["webhook-signature"]).toBe(key.sign(headers["webhook-id"] ?? "", new Date(at), body));
  });

  test("is a dead letter at once when another attempt would end the same way; redelivered it has eight attempts more", async () => {
    answer = () => ({ status: 0, error: "blocked: the receiver's address 10.0.0.1 is private", isFinal: true });
    await create();
    query("q1");
    await clock.advance(3_600_000);
    expect([sent.length, await states()]).toEqual([1, ["failed"]]);
    answer = () => BROKEN;
    const [dead] = await webhooks.deliveries.list({ environmentId: ENV, limit: 1 });
    await webhooks.deliveries.redeliver(ENV, dead?.id ?? "");
    await clock.advance(48 * 3_600_000);
    expect([sent.length, await states()]).toEqual([1 + MAX_ATTEMPTS, ["failed"]]);
  });

  test("of another environment is not redelivered", async () => {
    answer = () => ({ ...BROKEN, isFinal: true });
    await create();
    query("q1");
    await clock.advance(1_000);
    const [dead] = await webhooks.deliveries.list({ environmentId: ENV, limit: 1 });
    expect(webhooks.deliveries.redeliver("env_2", dead?.id ?? "")).rejects.toThrow("There is no delivery");
    expect(await webhooks.deliveries.list({ environmentId: "env_2", limit: 10 })).toEqual([]);
  });

  test("goes to the webhook as it is by then: its new address and secret; none to a deleted one", async () => {
    answer = () => BROKEN;
    const { id } = await create();
    query("q1");
    await clock.advance(1_000);
    await webhooks.update(ENV, OWNER, id, { url: "https://other.example.com/y" });
    await clock.advance(5_000);
    expect(sent.map(({ url }) => url)).toEqual(["https://hooks.example.com/x", "https://other.example.com/y"]);
    await webhooks.delete(ENV, id);
    await clock.advance(24 * 3_600_000);
    const [dead] = await webhooks.deliveries.list({ environmentId: ENV, limit: 1 });
    expect([sent.length, dead?.state, dead?.error]).toEqual([2, "failed", "the webhook was deleted"]);
    expect(webhooks.deliveries.redeliver(ENV, dead?.id ?? "")).rejects.toThrow("was deleted");
  });

  test("waits while as many as may to the same host are under way; another host does not", async () => {
    const open: (() => void)[] = [];
    answer = ({ url }) => (url.includes("slow") ? new Promise((resolve) => open.push(() => resolve(OK))) : OK);
    await create({ name: "slow", url: "https://slow.example.com/" });
    await create({ name: "fast", url: "https://fast.example.com/" });
    for (let n = 0; n < SLOTS_PER_HOST + 2; n++) query(`q${n}`);
    await clock.advance(5_000);
    const to = (host: string) => sent.filter(({ url }) => url.includes(host)).length;
    expect([to("slow"), to("fast")]).toEqual([SLOTS_PER_HOST, SLOTS_PER_HOST + 2]);
    for (const end of open.splice(0)) end();
    await clock.advance(5_000);
    expect(to("slow")).toBe(SLOTS_PER_HOST + 2);
    for (const end of open) end();
  });

  test("survives the end of its node: the next process makes it, with the same key", async () => {
    answer = () => new Promise(() => undefined);
    await create();
    query("q1");
    await clock.advance(1_000);
    expect(sent.length).toBe(1);
    const died = webhooks;
    answer = () => OK;
    webhooks = open();
    webhooks.startDelivering();
    await clock.advance(1_000);
    expect([sent.length, await states()]).toEqual([2, ["succeeded"]]);
    expect(sent[1]?.headers["webhook-id"]).toBe(sent[0]?.headers["webhook-id"]);
    await close(died);
  });

  test("pauses grow fourfold, half of each at random", () => {
    expect([1, 2, 3].map((n) => deliveryBackoffMs(n, () => 0))).toEqual([2_500, 10_000, 40_000]);
    expect([1, 2, 3, 9].map((n) => deliveryBackoffMs(n, () => 1))).toEqual([5_000, 20_000, 80_000, 4 * 3_600_000]);
  });
});

describe("events", () => {
  test("that no webhook asks for cost a look-up: nobody watches", async () => {
    await create({}, "env_2");
    webhooks.events.watch(DEPLOYMENT);
    await clock.advance(0);
    expect(webhooks.events.watch(DEPLOYMENT)).toBeUndefined();
    await create({ subscriptions: ["deployment.live"] });
    webhooks.events.watch(DEPLOYMENT);
    await clock.advance(0);
    expect(webhooks.events.watch(DEPLOYMENT)).toBeUndefined();
  });

  test("of the very query after a webhook was created are told, and values are noted only for those who want them", async () => {
    webhooks.events.watch(DEPLOYMENT);
    await clock.advance(0);
    await create();
    query("first");
    await clock.advance(1_000);
    expect(sent.length).toBe(1);
    expect(webhooks.events.watch(DEPLOYMENT)).toMatchObject({ computed: undefined });
    query("second", { ...DEPLOYMENT, environmentId: "env_2" });
    await clock.advance(1_000);
    expect(sent.length).toBe(1);
  });

  test("beyond the bounds of memory and outbox are dropped and counted, for that webhook alone", async () => {
    answer = () => BROKEN;
    await create();
    query("warm");
    await clock.advance(1_000);
    for (let n = 0; n < MAX_UNQUEUED + 5; n++) query(`q${n}`);
    expect(webhooks.deliveries.dropped(ENV)).toBe(5);
    await clock.advance(5_000);
    expect((await states()).filter((state) => state === "queued" || state === "running").length).toBe(MAX_WAITING);
    expect(webhooks.deliveries.dropped(ENV)).toBe(5 + MAX_UNQUEUED + 1 - MAX_WAITING);
    expect(webhooks.deliveries.dropped("env_2")).toBe(0);
    answer = () => OK;
    await create({ name: "other", url: "https://other.example.com/" });
    query("told");
    await clock.advance(1_000);
    expect(sent.filter(({ url }) => url.includes("other")).length).toBe(1);
  }, 300_000);

  test("in memory are queued when the server stops", async () => {
    answer = () => new Promise(() => undefined);
    await create();
    webhooks.events.watch(DEPLOYMENT);
    await clock.advance(0);
    query("q1");
    expect(await states()).toEqual([]);
    await close(webhooks);
    expect(await states()).toEqual(["queued"]);
  });

  test("of a deployment are queued once, however often they are told", async () => {
    await create({ subscriptions: ["deployment.failed"] });
    const deployment = { id: "dpl_9", environmentId: ENV, branch: "", projectName: "p", promoted: false, status: 5, error: "no" };
    const settled = () => webhooks.events.deploymentSettled(deployment as Parameters<Webhooks["events"]["deploymentSettled"]>[0]);
    await settled();
    await settled();
    await clock.advance(1_000);
    expect(sent.map(({ body }) => JSON.parse(body))).toMatchObject([
      { subscription: "deployment.failed", payload: { deployment_id: "dpl_9", error: "no" } },
    ]);
  });
});

test("a deployment that waits for approval is told to those who want to know", async () => {
  await create({ subscriptions: ["deployment.waiting"] });
  const deployment = { id: "dpl_8", environmentId: ENV, branch: "", projectName: "p", promoted: false, error: "" };
  for (const status of [7, 4, 5])
    await webhooks.events.deploymentSettled({ ...deployment, status } as Parameters<Webhooks["events"]["deploymentSettled"]>[0]);
  await clock.advance(1_000);
  expect(sent.map(({ body }) => JSON.parse(body))).toMatchObject([
    { subscription: "deployment.waiting", payload: { deployment_id: "dpl_8" } },
  ]);
});

describe("values of rows that were deleted", () => {
  const KEPT = "9007199254740993";
  const cells = [
    { fqn: "user.name", key: 1, value: "Ann", resolver: "r" },
    { fqn: "user.name", key: KEPT, value: "Bo", resolver: "r" },
    { fqn: "user.city", key: 1, value: "Rome", resolver: "r" },
    { fqn: "user.name", key: null, value: "unknown", resolver: "r" },
  ];
  const deletionOf = (keys: readonly string[], patch: Partial<DeletionRecord> = {}): DeletionRecord => ({
    ...{ id: "del_1", environmentId: ENV, branch: "", versions: null, createdAt: clock.now(), expiresAt: clock.now() + 1e6, removed: {} },
    rows: [{ namespace: "user", features: ["user.name"], keys, featureIds: [1], relationIds: [] }],
    ...patch,
  });
  /** Tells of the cells as of a query that begins now; returns its end. */
  const computing = (id: string, scope = "main") => {
    const graph = { featureSets: [] } as unknown as LiveDeployment["graph"];
    const watch = webhooks.events.watch({ ...DEPLOYMENT, scope, graph });
    watch?.computed?.cells.push(...cells);
    const began = facts(id);
    return () => watch?.ended(began);
  };
  const told = (body: string) => {
    const { values, omitted, branch } = (JSON.parse(body) as { payload: { values: { value: string }[]; omitted: number; branch: string } })
      .payload;
    return { values: values.map(({ value }) => value), omitted, branch };
  };
  const ALL = ["Ann", "Bo", "Rome", "unknown"];

  test("are taken out of deliveries that wait, have failed and have succeeded, and are counted there", async () => {
    await create({ subscriptions: ["feature.computed"] });
    const outcomes: Attempted[] = [OK, { ...BROKEN, isFinal: true }, BROKEN];
    for (const [n, outcome] of outcomes.entries()) {
      answer = () => outcome;
      computing(`q${n}`)();
      await clock.advance(1_000);
    }
    computing("branch", "branch:env_1:b")();
    await clock.advance(1_000);
    expect(await states()).toEqual(["queued", "queued", "failed", "succeeded"]);
    expect(sent.map(({ body }) => told(body).values)).toEqual([ALL, ALL, ALL, ALL]);
    expect(await webhooks.deliveries.silence(silencedBy(deletionOf(["i:1"], { environmentId: "env_2" })))).toBe(0);
    expect(await webhooks.deliveries.silence(silencedBy(deletionOf(["i:1"], { createdAt: clock.now() - 60_000 })))).toBe(0);
    const silenced = silencedBy(deletionOf(["i:1", `i:${KEPT}`]));
    expect([await webhooks.deliveries.silence(silenced), await webhooks.deliveries.silence(silenced)]).toEqual([6, 0]);
    sent = [];
    answer = () => OK;
    for (const { id, state } of await webhooks.deliveries.list({ environmentId: ENV, limit: 9 }))
      if (state !== "queued") await webhooks.deliveries.redeliver(ENV, id);
    await clock.advance(3_600_000);
    const rest = { values: ["Rome", "unknown"], omitted: 2, branch: "" };
    expect(sent.map(({ body }) => told(body)).sort((a, b) => a.branch.localeCompare(b.branch))).toEqual([
      ...[rest, rest, rest],
      { values: ALL, omitted: 0, branch: "b" },
    ]);
  });

  test("are not told by a query that began before the deletion and ends after it; by one that begins later they are", async () => {
    await create({ subscriptions: ["feature.computed"] });
    computing("warm")();
    await clock.advance(1_000);
    sent = [];
    const end = computing("before");
    await clock.advance(1_000);
    deleted.replace([deletionOf(["i:1"])]);
    await clock.advance(1_000);
    end();
    computing("after")();
    await clock.advance(1_000);
    expect(sent.map(({ body }) => told(body)).sort((a, b) => b.omitted - a.omitted)).toEqual([
      { values: ALL.slice(1), omitted: 1, branch: "" },
      { values: ALL, omitted: 0, branch: "" },
    ]);
  });
});

test("values of features go only to webhooks of those who may query them", async () => {
  const author = { permissions: ["settings.write"] };
  const fields = { name: "x", url: "https://hooks.example.com/", subscriptions: ["feature.computed:user.score"] };
  expect(webhooks.create(ENV, author, fields)).rejects.toThrow("may not query them");
  const { webhook } = await webhooks.create(ENV, { permissions: ["settings.write", "query.online"] }, fields);
  expect(webhooks.update(ENV, author, webhook.id, { url: "https://elsewhere.example.com/" })).rejects.toThrow("may not query them");
});

test("secrets are sealed where they are kept, and not in another's place", async () => {
  const sealing = open(createSealer([{ id: "k", secret: new Uint8Array(32) }]));
  await sealing.create(ENV, OWNER, {
    name: "x",
    url: "https://hooks.example.com/",
    subscriptions: ["query.run"],
    secret: SECRET,
    headers: { Authorization: "Bearer hidden" },
  });
  const [kept] = await store.documents.list("webhook");
  expect(JSON.stringify(kept)).not.toMatch(/hidden|c2VjcmV0/);
  await close(sealing);
});

test("after a rotation secrets and headers are sealed with the new key, and signed as before; what no key opens is passed over", async () => {
  const key = (fill: number) => ({ id: `key${fill}`, secret: new Uint8Array(32).fill(fill) });
  const before = open(createSealer([key(1)]));
  const lost = open(createSealer([key(9)]));
  const given = { url: "https://hooks.example.com/x", subscriptions: ["query.run"], secret: SECRET, headers: { "X-Key": "k" } };
  await before.create(ENV, OWNER, { ...given, name: "kept" });
  await lost.create(ENV, OWNER, { ...given, name: "lost" });
  const rotated = open(createSealer([key(2), key(1)]));
  const signal = new AbortController().signal;
  expect([await rotated.reseal(signal), await rotated.reseal(signal)]).toEqual([1, 0]);
  const alone = open(createSealer([key(2)]));
  await alone.test(ENV, "kept");
  expect(sent.map(({ headers }) => headers["X-Key"])).toEqual(["k"]);
  for (const one of [before, lost, rotated, alone]) await close(one);
});
