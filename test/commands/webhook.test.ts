/** Webhooks from the command line to their receivers, over the embedded server. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { eventually } from "../harness/eventually.ts";
import { type Received, type Receiver, startReceiver } from "../server/webhooks/receiver.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

const SECRET = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0";
let platform: Platform;
let receiver: Receiver;
let project: string;

const svc = (path: string, words: readonly string[] = [], options: { readonly input?: readonly string[] } = {}) =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project, ...options });
const ok = async (path: string, words: readonly string[] = [], options: { readonly input?: readonly string[] } = {}) => {
  const outcome = await svc(path, words, options);
  if (outcome.exitCode !== 0) throw new Error(outcome.stderr);
  return outcome;
};
const bodyOf = ({ body }: Received) =>
  JSON.parse(body) as { subscription: string; idempotency_key: string; payload: Record<string, unknown> };
const eventsOf = (type: string) => receiver.received.filter((one) => bodyOf(one).subscription === type);
const create = (name: string, ...words: string[]) => ok("webhook/create", ["--name", name, "--url", receiver.url, ...words]);
const deliveries = async (...words: string[]) =>
  (await ok("webhook/deliveries/list", ["--json", ...words])).json() as {
    deliveries: { id: string; state: string; webhook_name: string; subscription: string; error: string | null; attempts: number }[];
    next_cursor?: string;
  };

beforeAll(async () => {
  platform = await startPlatform({ SVC_WEBHOOK_ALLOW: "127.0.0.0/8" });
  project = writeProject();
  await ok("apply", ["--force", "--await"]);
});
afterAll(() => platform.server.stop());
beforeEach(async () => {
  receiver?.stop();
  receiver = startReceiver();
  const { webhooks } = (await ok("webhook/list", ["--json"])).json() as { webhooks: { id: string }[] };
  for (const { id } of webhooks) await ok("webhook/delete", ["--id", id, "--yes"]);
});

describe("a delivery", () => {
  test("shows what was sent, and the beginning of the answer without the secrets that it repeats", async () => {
    await create("ops", "--subscriptions", "query.run", "--secret", SECRET, "--headers", '{"Authorization":"Bearer hidden\\"key"}');
    receiver.answer(({ headers }) => {
      const told = [SECRET, SECRET.replace("whsec_", ""), headers.authorization, JSON.stringify({ key: 'hidden"key' })];
      return new Response(`${told.join("\n")}\n${"x".repeat(3_000)}`, { status: 202 });
    });
    await ok("query", ["--in", "user.id=1", "--out", "user.name"]);
    const id = async () => (await deliveries()).deliveries.find(({ state }) => state === "delivered")?.id ?? "";
    await eventually(async () => (await id()) !== "", "the event is delivered");
    const got = await ok("webhook/deliveries/get", [await id(), "--json"]);
    const { answer, body } = got.json() as { body: string; answer: { status_code: number; body: string; cut: boolean } };
    expect(body).toBe(receiver.received[0]?.body ?? "");
    expect([answer.status_code, answer.cut, answer.body.length]).toEqual([202, true, 1_024]);
    expect(answer.body).toStartWith('***\n***\n***\n{"key":"***"}\nxxx');
    const { stdout } = await ok("webhook/deliveries/get", [await id()]);
    expect(stdout).toMatch(/Answered: +202 {2}/);
    expect(stdout + got.stdout).not.toContain("hidden");
    expect((await svc("webhook/deliveries/get", ["job_none"])).stderr).toContain("There is no delivery 'job_none'");
  });
});

describe("a webhook", () => {
  test("is created, listed, changed by what is given, and deleted; its secrets are shown nowhere", async () => {
    const created = await create(
      "ops",
      "--subscriptions",
      "query.run,query.run, deployment.live",
      "--secret",
      SECRET,
      "--headers",
      '{"X-Key":"hidden"}',
    );
    const id = /^ID: +(whk_\w+)\nName: +ops\n$/.exec(created.stdout)?.[1];
    expect(id).toBeDefined();
    const [webhook] = ((await ok("webhooks/list", ["--json"])).json() as { webhooks: object[] }).webhooks;
    expect(webhook).toMatchObject({ id, name: "ops", url: receiver.url, subscriptions: ["query.run", "deployment.live"], signed: true });
    expect(webhook).toMatchObject({ headers: { "X-Key": "***" } });
    expect((await ok("webhook/list")).stdout).toMatch(
      /^Name +URL +Subscriptions +Updated\nops +http:\S+ +query.run, deployment.live +20\S+Z\n$/,
    );
    const updated = await ok("webhook/update", ["--id", "ops", "--name", "ops2", "--secret", "", "--json"]);
    expect(updated.json()).toMatchObject({ id, name: "ops2", signed: false, subscriptions: ["query.run", "deployment.live"] });
    expect(updated.stdout + created.stdout).not.toContain("hidden");
    expect((await svc("webhook/delete", ["--id", "ops2"], { input: ["n"] })).exitCode).toBe(1);
    expect((await ok("webhook/delete", ["--id", "ops2", "--yes"])).stdout).toContain(`Deleted: ${id}`);
    expect((await svc("webhook/delete", ["--id", "ops2", "--yes"])).stderr).toContain("There is no webhook 'ops2'.");
  });

  test.each([
    [["--url", "ftp://example.com", "--subscriptions", "query.run"], "begins with http:// or https://"],
    [["--url", "https://me:pw@example.com", "--subscriptions", "query.run"], "cannot hold a user"],
    [["--url", "http://10.0.0.8/x", "--subscriptions", "query.run"], "10.0.0.8 is private"],
    [["--url", "http://0x0a000008/x", "--subscriptions", "query.run"], "10.0.0.8 is private"],
    [["--url", "http://[fe80::1]/x", "--subscriptions", "query.run"], "is link-local, which is never called"],
    [["--url", "https://example.com", "--subscriptions", "a b"], "is no event type"],
    [["--url", "https://example.com", "--subscriptions", "feature.computed:"], "names neither a feature nor a tag"],
    [["--url", "https://example.com", "--subscriptions", "query.run", "--secret", "whsec_*"], "what follows is not base64"],
    [
      ["--url", "https://example.com", "--subscriptions", "query.run", "--headers", '{"Host":"x"}'],
      "is set by svc, or belongs to the connection",
    ],
    [["--url", "https://example.com", "--subscriptions", "query.run", "--headers", '{"X":"a\\r\\nB: c"}'], "is not one line"],
    [["--url", "https://example.com", "--subscriptions", "query.run", "--headers", '{"X-A":"1","x-a":"2"}'], "is given twice"],
  ])("is refused: %p", async (words, message) => {
    const { exitCode, stderr } = await svc("webhook/create", ["--name", "bad", ...words]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(stderr).not.toContain("pw@");
  });

  test.each([
    ["webhook/create", ["--name", "a", "--subscriptions", "query.run"], "--url is missing"],
    ["webhook/create", ["--name", "a", "--url", "https://example.com"], "--subscriptions is missing"],
    ["webhook/create", ["--url", "https://example.com", "--subscriptions", "query.run"], "--name"],
    [
      "webhook/create",
      ["--name", "a", "--url", "https://example.com", "--subscriptions", "query.run", "--headers", "[1]"],
      "JSON object of texts",
    ],
    ["webhook/update", ["--id", "a"], "nothing to change"],
    ["webhook/update", ["--name", "b"], "--id"],
    ["webhook/delete", ["--yes"], "--id"],
    ["webhook/deliveries/list", ["--limit", "0"], "--limit"],
  ])("is a usage error without a terminal: %s %p", async (path, words, message) => {
    const { exitCode, stderr } = await svc(path, words);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  test("unknown event types are kept, with a warning; the secret may come from stdin", async () => {
    const { stderr } = await ok(
      "webhook/create",
      ["--name", "w", "--url", receiver.url, "--subscriptions", "query.runs", "--secret", "-"],
      {
        input: [SECRET],
      },
    );
    expect(stderr).toContain("This server sends no events 'query.runs'. did you mean 'query.run'?");
    const { webhooks } = (await ok("webhook/list", ["--json"])).json() as { webhooks: object[] };
    expect(webhooks).toMatchObject([{ subscriptions: ["query.runs"], signed: true }]);
  });

  test("headers that were given for one origin are not sent to another", async () => {
    await create("ops", "--subscriptions", "query.run", "--headers", '{"Authorization":"Bearer hidden"}');
    const { exitCode, stderr } = await svc("webhook/update", ["--id", "ops", "--url", "https://other.example.com/"]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("were given for http://127.0.0.1")]);
    await ok("webhook/update", ["--id", "ops", "--url", "https://other.example.com/", "--headers", "{}"]);
  });

  test("a test event says what became of it", async () => {
    await create("ops", "--subscriptions", "query.run", "--secret", "any text", "--headers", '{"X-Team":"fraud"}');
    expect((await ok("webhook/test", ["ops"])).stdout).toMatch(/Delivered: yes\nStatus: +204/);
    const [request] = receiver.received as [Received];
    expect(request).toMatchObject({ method: "POST", path: "/hook", headers: { "x-team": "fraud", "content-type": "application/json" } });
    expect(new Webhook("any text", { format: "raw" }).verify(request.body, request.headers)).toMatchObject({
      subscription: "webhook.test",
    });
    receiver.answer(() => new Response("do not show this", { status: 500 }));
    const failed = await svc("webhook/test", ["ops", "--json"]);
    expect([failed.exitCode, failed.json()]).toEqual([
      1,
      expect.objectContaining({ delivered: false, status_code: 500, error: "the receiver answered 500" }),
    ]);
    expect(failed.stdout).not.toContain("do not show");
  });
});

describe("events", () => {
  const query = (id: number, ...outputs: string[]) =>
    svc("query", ["--in", `user.id=${id}`, ...outputs.flatMap((output) => ["--out", output])]);

  test("of queries and resolvers are signed so that the published library accepts them", async () => {
    await create("all", "--subscriptions", "query.run,resolver.run", "--secret", SECRET);
    await query(7, "user.score", "user.fragile");
    await eventually(() => receiver.received.length === 3, "three events");
    const [told] = eventsOf("query.run").map(bodyOf);
    expect(told).toMatchObject({ environment_id: platform.environmentId, payload: { status: "succeeded", error_count: 0 } });
    expect(eventsOf("resolver.run").map((one) => bodyOf(one).payload.resolver)).toEqual(
      expect.arrayContaining(["resolvers.score", "resolvers.fragile"]),
    );
    for (const one of receiver.received) {
      const verified = new Webhook(SECRET).verify(one.body, one.headers) as ReturnType<typeof bodyOf>;
      expect(one.headers["webhook-id"]).toBe(verified.idempotency_key);
      expect(() => new Webhook(SECRET).verify(`${one.body} `, one.headers)).toThrow();
    }
    expect(new Set(receiver.received.map((one) => one.headers["webhook-id"])).size).toBe(3);
  });

  test("of queries that fail and that are refused say so, without values", async () => {
    await create("q", "--subscriptions", "query.run,resolver.run");
    await query(13, "user.fragile");
    await svc("query", ["--in", "user.id=secret-value", "--out", "user.score"]);
    await eventually(() => receiver.received.length === 3, "three events");
    expect(eventsOf("query.run").map((one) => bodyOf(one).payload.status)).toEqual(expect.arrayContaining(["failed", "refused"]));
    expect(eventsOf("resolver.run").map((one) => bodyOf(one).payload)).toMatchObject([
      { resolver: "resolvers.fragile", failed_rows: 1, status: "failed" },
    ]);
    expect(receiver.received.map(({ body }) => body).join()).not.toMatch(/unlucky|secret-value/);
  });

  test("of computed features are one for a query, with the chosen features alone", async () => {
    await create("one", "--subscriptions", "feature.computed:user.score,query.run");
    await query(8, "user.score", "user.fragile");
    await eventually(() => receiver.received.length === 2, "two events");
    expect(eventsOf("feature.computed").map((one) => bodyOf(one).payload)).toMatchObject([
      { values: [{ fqn: "user.score", key: 8, value: 4, resolver: "resolvers.score" }], omitted: 0 },
    ]);
  });

  test("of a bulk query are one for all its rows", async () => {
    await create("bulk", "--subscriptions", "query.run,resolver.run,feature.computed:user.score");
    await ok("query", ["--bulk", "--in", "user.id=1", "--in", "user.id=2", "--in", "user.id=3", "--out", "user.score"]);
    await eventually(() => receiver.received.length === 3, "three events");
    expect(eventsOf("resolver.run").map((one) => bodyOf(one).payload)).toMatchObject([{ resolver: "resolvers.score", rows: 3 }]);
    expect(eventsOf("feature.computed").map((one) => bodyOf(one).payload.values)).toMatchObject([
      [1, 2, 3].map((id) => ({ fqn: "user.score", key: id, value: id / 2 })),
    ]);
  });

  test("of a webhook that was changed are those of its new subscriptions, and of a deleted one none", async () => {
    await create("changing", "--subscriptions", "query.run");
    await ok("webhook/update", ["--id", "changing", "--subscriptions", "resolver.run"]);
    await create("gone", "--subscriptions", "query.run");
    await ok("webhook/delete", ["--id", "gone", "--yes"]);
    await query(21, "user.score");
    await eventually(() => receiver.received.length === 1, "an event");
    await query(22, "user.score");
    await eventually(() => receiver.received.length === 2, "another event");
    expect(receiver.received.map((one) => bodyOf(one).subscription)).toEqual(["resolver.run", "resolver.run"]);
  });

  test("are those of the webhook's environment, and of no event that it did not ask for", async () => {
    await create("live", "--subscriptions", "deployment.live,deployment.failed");
    await query(9, "user.score");
    await ok("apply", ["--force", "--await"]);
    await eventually(() => receiver.received.length === 1, "an event");
    expect(receiver.received.map(bodyOf)).toMatchObject([
      { subscription: "deployment.live", payload: { project: "demo", promoted: true } },
    ]);
  });
});

describe("deliveries", () => {
  const deployed = async () => {
    await create("ops", "--subscriptions", "query.run");
    await ok("query", ["--in", "user.id=1", "--out", "user.score"]);
  };
  const states = async () => (await deliveries("--webhook", "ops")).deliveries.map(({ state }) => state);

  test("that were taken are listed; a dead letter is delivered again with the same key", async () => {
    receiver.answer(() => new Response(null, { status: 410 }));
    await deployed();
    await eventually(async () => (await states()).includes("dead"), "a dead letter");
    const [dead] = (await deliveries("--webhook", "ops", "--state", "dead")).deliveries;
    expect(dead).toMatchObject({ webhook_name: "ops", subscription: "query.run", attempts: 1, error: "the receiver answered 410" });
    receiver.answer(() => new Response(null, { status: 200 }));
    expect((await ok("webhook/deliveries/redeliver", [dead?.id ?? ""])).stdout).toContain(dead?.id ?? "-");
    await eventually(async () => (await states()).includes("delivered"), "a delivery");
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual(
      Array(2).fill(receiver.received[0]?.headers["webhook-id"]),
    );
    expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body);
  });

  test("that wait cannot be made twice, and go with their webhook", async () => {
    receiver.answer(() => new Response(null, { status: 503 }));
    await deployed();
    await eventually(
      async () => (await deliveries("--webhook", "ops", "--state", "pending")).deliveries[0]?.attempts === 1,
      "a first attempt",
    );
    const [waiting] = (await deliveries("--webhook", "ops")).deliveries;
    expect((await svc("webhook/deliveries/redeliver", [waiting?.id ?? ""])).stderr).toContain("has not ended");
    expect((await svc("webhook/deliveries/redeliver", ["job_1"])).stderr).toContain("There is no delivery 'job_1'");
    const refused = await svc("webhook/delete", ["--id", "ops"], { input: ["n"] });
    expect(refused.stderr).toContain("Waiting deliveries that are then not made: 1.");
  });

  test("are listed in pages", async () => {
    const first = await deliveries("--limit", "1");
    const second = await deliveries("--limit", "1", "--cursor", first.next_cursor ?? "");
    expect(second.deliveries[0]?.id).not.toBe(first.deliveries[0]?.id);
    expect((await svc("webhook/deliveries/list", ["--state", "dead", "--cursor", first.next_cursor ?? ""])).exitCode).toBe(1);
  });
});
