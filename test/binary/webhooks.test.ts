/** Webhooks of the compiled server: killed while it delivers, and kept from where it may not call. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { type Receiver, startReceiver } from "../server/webhooks/receiver.ts";

const SECRET = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0";
const PROJECT = {
  "svc.yaml": "project: hooks\nenvironments:\n  default: {}\n",
  "features.py": `from svc import NamedQuery, _
from svc.features import feature, features


@features
class User:
    id: int
    double: int = feature(expression=_.id * 2)


NamedQuery(name="doubles", version="1.0.0", input=[User.id], output=[User.double], tags=["t"], description="Twice the id")
`,
};
let sandbox: Sandbox;
let receiver: Receiver;
let project: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  receiver = startReceiver();
  project = await sandbox.write(PROJECT);
});
afterEach(async () => {
  receiver.stop();
  await sandbox[Symbol.asyncDispose]();
});

const svc = async (args: readonly string[], options: { input?: string } = {}) => {
  const outcome = await sandbox.svc(args, { cwd: project, ...options });
  expect(outcome.exitCode, outcome.stderr).toBe(0);
  return outcome.stdout;
};
const deliveries = async () =>
  (
    await sandbox.json<{ deliveries: { id: string; state: string; error: string | null }[] }>(["webhook", "deliveries", "list"], {
      cwd: project,
    })
  ).deliveries;

test("a delivery that a killed server was making is made by the next one, with the same key and a signature", async () => {
  const allow = { SVC_WEBHOOK_ALLOW: "127.0.0.0/8" };
  await sandbox.startServer(allow);
  await svc(["apply", "--force", "--await"]);
  await svc(["webhook", "create", "--name", "ops", "--url", receiver.url, "--subscriptions", "query.run", "--secret", "-"], {
    input: SECRET,
  });
  const answers: ((response: Response) => void)[] = [];
  receiver.answer(() => new Promise((resolve) => answers.push(resolve)));
  await svc(["query", "--in", "user.id=4", "--out", "user.double"]);
  await eventually(() => receiver.received.length === 1, "a delivery is under way");
  await sandbox.killServer();
  receiver.answer(() => new Response(null, { status: 204 }));
  await sandbox.startServer(allow);
  await eventually(async () => (await deliveries())[0]?.state === "delivered", "it is delivered");
  const [first, second] = receiver.received;
  expect([second?.headers["webhook-id"], second?.body]).toEqual([first?.headers["webhook-id"], first?.body]);
  for (const { body, headers } of receiver.received)
    expect(new Webhook(SECRET).verify(body, headers)).toMatchObject({ subscription: "query.run" });
  for (const file of ["meta.db", "meta.db-wal", "meta.outbox.db", "meta.outbox.db-wal"])
    expect(readFileSync(join(sandbox.home, ".svc/data", file)).includes(SECRET.slice("whsec_".length))).toBe(false);
  for (const resolve of answers) resolve(new Response());
}, 300_000);

test("a server whose operator allows nothing calls no private address, whoever asks; a wrong list is refused", async () => {
  await sandbox.startServer();
  await svc(["apply", "--force", "--await"]);
  for (const url of [receiver.url, receiver.url.replace("127.0.0.1", "localhost"), receiver.url.replace("127.0.0.1", "0x7f000001")]) {
    const refused = await sandbox.svc(["webhook", "create", "--name", "x", "--url", url, "--subscriptions", "query.run"], { cwd: project });
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("127.0.0.1 is loopback")]);
    expect(refused.stderr).toContain("SVC_WEBHOOK_ALLOW");
  }
  await svc(["server", "stop"]);
  const wrong = await sandbox.svc(["server", "start", "--detach", "--port", "0"], { env: { SVC_WEBHOOK_ALLOW: "everything" } });
  expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining("SVC_WEBHOOK_ALLOW has the entry 'everything'")]);
  expect(receiver.received).toEqual([]);
}, 300_000);

test("named queries, the online store and offline tables are shown", async () => {
  await sandbox.startServer();
  await svc(["apply", "--force", "--await"]);
  expect(await svc(["named-queries", "list"])).toMatch(
    /^Index +Name +Version +Tags +Output +Description +Staleness +Planner Options\n +1 +doubles +1\.0\.0 +t +user\.double +Twice the id/,
  );
  expect(JSON.parse(await svc(["named-query", "list", "--json"]))).toMatchObject({
    named_queries: [{ name: "doubles", outputs: ["user.double"] }],
  });
  await svc(["query", "--in", "user.id=4", "--out", "user.double"]);
  expect(await svc(["online-store", "describe"])).toMatch(
    /^sqlite:\n {2}address: "?sqlite:\S+online\.db"?\n {2}item_count: \d+\n {2}table_size_bytes: \d+\n/,
  );
  await eventually(async () => (await sandbox.svc(["offline-store", "table", "user.double"], { cwd: project })).exitCode === 0, "a table");
  const table = (await svc(["offline-store", "table", "user.double"])).trim();
  expect((await svc(["offline-store", "table", "user.double", "--include-historical"])).trim()).toBe(table);
}, 300_000);
