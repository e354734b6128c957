/** The example orchestrator as a process, with webhooks that were recorded and a fake controller. */

import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { eventually } from "../harness/eventually.ts";
import { FakeController } from "../harness/fake-controller.ts";
import {
  agentsOf,
  ORCHESTRATOR,
  type OrchestratorProcess,
  post,
  type RecordedWebhook,
  recorded,
  SECRETS,
  spawnOrchestrator,
  startOrchestrator,
} from "../harness/orchestrator.ts";
import { INTERPRETERS } from "./interpreters.ts";

const TEST_MS = 300_000;
/** Calls that the orchestrator makes at once. */
const AT_ONCE = 4;

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
});

interface Started {
  readonly fake: FakeController;
  readonly database: string;
  readonly start: (env?: Record<string, string>) => Promise<OrchestratorProcess>;
}

function prepare(): Started {
  const fake = new FakeController(SECRETS.CONTROLLER_API_KEY);
  const database = join(tempFolder("svc-orchestrator-"), "data/agents.db");
  const start = async (env?: Record<string, string>): Promise<OrchestratorProcess> => {
    const process = await startOrchestrator(database, fake.url, env);
    open.unshift(process);
    return process;
  };
  open.push({ [Symbol.asyncDispose]: async () => fake[Symbol.dispose]() });
  return { fake, database, start };
}

const numbered = (number: number): RecordedWebhook => {
  const { body, headers } = recorded("issue-opened");
  const said = body as { issue: object };
  return { headers: { ...headers, "X-GitHub-Delivery": `delivery-${number}` }, body: { ...said, issue: { ...said.issue, number } } };
};
const added = async (url: string, webhook: RecordedWebhook): Promise<string> => {
  const response = await post(url, webhook);
  const said = (await response.json()) as { agent_id: string; status: string };
  expect([response.status, said.status]).toEqual([200, "pending"]);
  return said.agent_id;
};
const statuses = async (url: string): Promise<Record<string, string>> =>
  Object.fromEntries((await agentsOf(url)).map(({ id, status }) => [id, status]));
const settled = (url: string) =>
  eventually(
    async () => Object.values(await statuses(url)).every((one) => one === "running" || one === "failed"),
    "all agents have settled",
  );
const neverAnswered = (): Promise<Response> => new Promise(() => undefined);

test(
  "webhooks become sessions with a prompt each",
  async () => {
    const { fake, start } = prepare();
    const { url } = await start({ MODEL: "large" });
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok" });
    expect(await agentsOf(url)).toEqual([]);
    const ids: string[] = [];
    for (const name of ["issue-opened", "issue-opened-without-text", "issue-comment", "push"]) ids.push(await added(url, recorded(name)));
    const { headers, body } = recorded("push");
    const untyped = { headers: { "content-type": headers["Content-Type"] ?? "" }, body: {} };
    ids.push(await added(url, untyped));
    ids.push(await added(url, { headers: { "x-source-event": "issues" }, body: { ...(body as object), action: "closed" } }));
    await settled(url);

    const rows = await agentsOf(url);
    expect(rows.map(({ id }) => id)).toEqual(ids.toReversed());
    const [closed, unknown, push, comment, bare, opened] = rows;
    expect(Object.keys(opened ?? {})).toEqual([
      ...["id", "webhook_event", "repo", "prompt", "status", "session_id", "task_id", "created_at", "updated_at"],
    ]);
    for (const { created_at, status, updated_at } of rows) {
      expect(status).toBe("running");
      expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
      expect(Date.parse(updated_at)).toBeGreaterThanOrEqual(Date.parse(created_at));
    }
    expect([opened?.webhook_event, opened?.repo]).toEqual(["issues", "acme/shop"]);
    expect([unknown?.webhook_event, unknown?.repo]).toEqual(["unknown", "unknown/unknown"]);
    expect(opened?.prompt).toStartWith("Investigate issue #42 of acme/shop, find its cause, and open a pull request");
    expect(opened?.prompt).toEndWith(
      "Title: Checkout fails for carts without items\n\nSteps:\r\n1. Empty the cart.\r\n2. Press “Checkout”.\r\n\r\nThe page shows a 500.",
    );
    expect(bare?.prompt).toEndWith("Title: Add a dark theme\n\nNo description was given.");
    expect(comment?.prompt).toStartWith("Respond to feedback on issue #42 of acme/shop");
    expect(comment?.prompt).toEndWith("bruno wrote:\nIt happens on the phone too. Please add a test.");
    expect(push?.prompt).toStartWith("Handle an event of the type 'push' of acme/shop");
    expect(closed?.prompt).toStartWith("Handle an event of the type 'issues'");

    expect(fake.refused).toBe(0);
    expect(fake.sessions.map(({ body: { description, repo } }) => [description, repo]).sort()).toEqual(
      rows.map(({ id, repo, webhook_event }) => [`Agent ${id}: ${webhook_event} in ${repo}`, repo]).sort(),
    );
    expect(fake.tasks.map(({ body: sent, path }) => [path, sent]).sort()).toEqual(
      rows.map(({ prompt, session_id }) => [`/api/v1/sessions/${session_id}/tasks`, { prompt, model: "large" }]).sort(),
    );
    expect(new Set(rows.map(({ task_id }) => task_id)).size).toBe(rows.length);
  },
  TEST_MS,
);

test(
  "without a secret it does not start, and says which are missing",
  async () => {
    const { fake, database } = prepare();
    const all = { ...SECRETS, CONTROLLER_URL: fake.url, DB_PATH: database, PORT: "0" };
    const said = async (env: Record<string, string>): Promise<string> => {
      const child = spawnOrchestrator(env);
      expect(await child.exited).toBe(2);
      return new Response(child.stderr).text();
    };
    for (const name of [...Object.keys(SECRETS), "CONTROLLER_URL"])
      expect(await said({ ...all, [name]: " " })).toContain(`it was given no ${name}. `);
    expect(await said({ DB_PATH: database })).toContain("no MODEL_API_KEY, SOURCE_WEBHOOK_SECRET, CONTROLLER_URL, CONTROLLER_API_KEY. ");
    for (const wrong of ["controller", "ftp://controller", "https://user:secret@controller", "http://controller:99999"]) {
      const text = await said({ ...all, CONTROLLER_URL: wrong });
      expect(text).toContain("CONTROLLER_URL is an address");
      expect(text).not.toContain("secret@");
    }
  },
  TEST_MS,
);

test(
  "what is no webhook of the source is refused, and adds nothing",
  async () => {
    const { fake, start } = prepare();
    const { url } = await start({ AGENTS_TOKEN: "for-operators" });
    const { body, headers } = recorded("issue-opened");
    const text = JSON.stringify(body);
    const send = async (more: RequestInit, path = "/webhook"): Promise<number> =>
      (await fetch(`${url}${path}`, { method: "POST", body: text, ...more })).status;
    expect(await send({ headers })).toBe(401);
    expect(await send({ headers: { ...headers, "x-hub-signature-256": `sha256=${"0".repeat(64)}` } })).toBe(401);
    expect(await send({ headers: { ...headers, "x-hub-signature-256": "ünlike" } })).toBe(401);
    const refused = async (sent: RecordedWebhook): Promise<number> => (await post(url, sent)).status;
    for (const wrong of ["[]", "", "{", "\u00ff{}", `${"[".repeat(100_000)}`, "null"])
      expect(await refused({ headers, body: wrong })).toBe(400);
    expect(await refused({ headers: { ...headers, "X-Source-Event": "a b" }, body })).toBe(400);
    expect(await refused({ headers, body: { text: "x".repeat(1_100_000) } })).toBe(413);
    expect(await send({}, "/other")).toBe(404);
    expect(await send({ method: "GET", body: null }, "/webhook")).toBe(404);
    expect(await send({ method: "PUT" })).toBe(501);
    const listed = (authorization: string) => fetch(`${url}/agents`, { headers: { authorization } });
    expect([(await listed("")).status, (await listed("Bearer other")).status]).toEqual([401, 401]);
    expect(await (await listed("Bearer for-operators")).json()).toEqual([]);
    expect(fake.calls).toEqual([]);
  },
  TEST_MS,
);

test(
  "texts of strangers are bounded, and cannot break the database or the answer",
  async () => {
    const { start, fake } = prepare();
    const { url } = await start();
    const issue = { number: 1e300, title: "\ud800 half", body: `${"é".repeat(20_000)}` };
    await added(url, { headers: { "x-source-event": "issues" }, body: { action: "opened", issue, repository: { full_name: 7 } } });
    await added(url, { headers: { "x-source-event": "issues" }, body: { action: "opened", issue: [], repository: "acme" } });
    await settled(url);
    const [second, first] = await agentsOf(url);
    expect(first?.prompt).toContain("Title: ? half");
    expect(first?.prompt).toEndWith("é\n[4000 further characters were left out]");
    expect(first?.repo).toBe("7");
    expect(second?.repo).toBe("unknown/unknown");
    expect(fake.tasks).toHaveLength(2);
  },
  TEST_MS,
);

test(
  "agents are listed by their status",
  async () => {
    const { fake, start } = prepare();
    const { url } = await start();
    fake.answer = ({ path }) => (path.endsWith("/tasks") ? new Response("no", { status: 500 }) : fake.next());
    const failed = await added(url, numbered(1));
    await settled(url);
    fake.answer = () => fake.next();
    const running = await added(url, numbered(2));
    await settled(url);
    const ids = async (status: string): Promise<string[]> => (await agentsOf(url, `?status=${status}`)).map(({ id }) => id);
    expect([await ids("failed"), await ids("running"), await ids("pending"), await ids("session_created")]).toEqual([
      [failed],
      [running],
      [],
      [],
    ]);
    expect((await fetch(`${url}/agents?status=other`)).status).toBe(400);
    expect((await fetch(`${url}/agents?status=failed&status=running`)).status).toBe(400);
  },
  TEST_MS,
);

test.each([
  ["a refusal", () => new Response("no", { status: 503 })],
  ["no JSON", () => new Response("fine")],
  ["no id", () => Response.json({ session: 1 })],
  ["an id that is none", () => Response.json({ id: "" })],
  ["an endless answer", () => new Response("x".repeat(2_000_000))],
  ["another address", () => new Response(null, { status: 307, headers: { location: "http://127.0.0.1:1/" } })],
])(
  "%s of the controller fails the agent",
  async (_, answer) => {
    const { fake, start } = prepare();
    const { url } = await start();
    fake.answer = answer;
    const id = await added(url, numbered(1));
    await settled(url);
    expect(await statuses(url)).toEqual({ [id]: "failed" });
    expect(fake.calls).toHaveLength(1);
  },
  TEST_MS,
);

test(
  "a webhook that is delivered again is the same agent, unless that one failed",
  async () => {
    const { fake, start } = prepare();
    const { url } = await start();
    fake.answer = () => new Response("no", { status: 500 });
    const first = await added(url, recorded("push"));
    await settled(url);
    fake.answer = () => fake.next();
    const second = await added(url, recorded("push"));
    expect(second).not.toBe(first);
    await settled(url);
    expect(await (await post(url, recorded("push"))).json()).toEqual({ agent_id: second, status: "running" });
    expect(await statuses(url)).toEqual({ [first]: "failed", [second]: "running" });
  },
  TEST_MS,
);

test(
  "killed while sessions are made, it makes none twice, and goes on with those that waited",
  async () => {
    const { fake, start } = prepare();
    const before = await start();
    const done = await added(before.url, numbered(100));
    await settled(before.url);
    fake.answer = neverAnswered;
    const ids: string[] = [];
    for (let number = 0; number < AT_ONCE + 2; number++) ids.push(await added(before.url, numbered(number)));
    await eventually(() => fake.sessions.length === 1 + AT_ONCE, "all calls at once are under way");
    await before.end("SIGKILL");
    fake.answer = () => fake.next();
    const { url } = await start();
    await settled(url);
    const after = await statuses(url);
    expect(after[done]).toBe("running");
    expect(ids.map((id) => after[id])).toEqual([...Array(AT_ONCE).fill("failed"), "running", "running"]);
    expect(fake.sessions).toHaveLength(1 + AT_ONCE + 2);
  },
  TEST_MS,
);

test(
  "killed while a task is submitted, it submits none twice",
  async () => {
    const { fake, start } = prepare();
    const before = await start();
    fake.answer = ({ path }) => (path.endsWith("/tasks") ? neverAnswered() : fake.next());
    const id = await added(before.url, numbered(1));
    await eventually(() => fake.tasks.length === 1, "the task is being submitted");
    expect(await statuses(before.url)).toEqual({ [id]: "session_created" });
    await before.end("SIGKILL");
    fake.answer = () => fake.next();
    const { url } = await start();
    await settled(url);
    const [agent] = await agentsOf(url);
    expect([agent?.status, agent?.session_id, agent?.task_id]).toEqual(["failed", "session-1", null]);
    expect(fake.calls).toHaveLength(2);
  },
  TEST_MS,
);

test(
  "killed between its calls, it goes on with the next one",
  async () => {
    const { database, fake, start } = prepare();
    const before = await start();
    const id = await added(before.url, numbered(1));
    await settled(before.url);
    await before.end("SIGKILL");
    const rows = new Database(database);
    rows.run("update agents set status = 'session_created', session_id = 'a/b?c', task_id = null");
    rows.close();
    const { url } = await start();
    await settled(url);
    expect(await statuses(url)).toEqual({ [id]: "running" });
    expect([fake.sessions.length, fake.tasks.at(-1)?.path]).toEqual([1, "/api/v1/sessions/a%2Fb%3Fc/tasks"]);
  },
  TEST_MS,
);

test(
  "asked to end, it takes the answer of a call that is under way, and leaves the next one to another process",
  async () => {
    const { fake, start } = prepare();
    const before = await start();
    const held = Promise.withResolvers<Response>();
    fake.answer = () => held.promise;
    const id = await added(before.url, numbered(1));
    await eventually(() => fake.sessions.length === 1, "the session is being made");
    const ended = before.end("SIGTERM");
    await eventually(
      () =>
        fetch(`${before.url}/health`).then(
          () => false,
          () => true,
        ),
      "it listens no more",
    );
    held.resolve(Response.json({ id: "session-held" }));
    expect(await ended).toBe(0);
    fake.answer = () => fake.next();
    const { url } = await start();
    await settled(url);
    expect((await agentsOf(url)).map(({ session_id, status }) => [session_id, status])).toEqual([["session-held", "running"]]);
    expect(await statuses(url)).toEqual({ [id]: "running" });
    expect(fake.calls).toHaveLength(2);
  },
  TEST_MS,
);

test(
  "of two processes with one database one makes the calls, and the other goes on when it ends",
  async () => {
    const { fake, start } = prepare();
    fake.answer = neverAnswered;
    const first = await start();
    const held = await added(first.url, numbered(1));
    await eventually(() => fake.sessions.length === 1, "the first one makes calls");
    const second = await start();
    const waiting: string[] = [];
    for (let number = 2; number < 2 + AT_ONCE; number++) waiting.push(await added(second.url, numbered(number)));
    await eventually(() => fake.sessions.length === AT_ONCE, "the first one makes those of the other too");
    await first.end("SIGKILL");
    fake.answer = () => fake.next();
    await settled(second.url);
    const after = await statuses(second.url);
    expect([held, ...waiting].map((id) => after[id])).toEqual([...Array(AT_ONCE).fill("failed"), "running"]);
    expect(fake.sessions).toHaveLength(AT_ONCE + 1);
  },
  TEST_MS,
);

test(
  "a controller that takes too long fails the call, however it delays",
  async () => {
    const fake = new FakeController("key");
    open.push({ [Symbol.asyncDispose]: async () => fake[Symbol.dispose]() });
    const script = `
import sys
from controller import Controller, ControllerError, TIMEOUT
assert TIMEOUT == 120
try:
    Controller(sys.argv[1], "key", timeout=0.5).create_session("d", "r")
except ControllerError as error:
    print(error)
`;
    const dripping = () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            controller.enqueue(new TextEncoder().encode(" "));
            await Bun.sleep(50);
          },
        }),
      );
    for (const answer of [neverAnswered, dripping]) {
      fake.answer = answer;
      const python = INTERPRETERS[0]?.path ?? "python3";
      const child = Bun.spawn([python, "-B", "-c", script, fake.url], { env: { PYTHONPATH: join(ORCHESTRATOR, "app") }, stdout: "pipe" });
      expect(await new Response(child.stdout).text()).toBe("the controller gave no answer: it took longer than 0.5 s\n");
    }
  },
  TEST_MS,
);
