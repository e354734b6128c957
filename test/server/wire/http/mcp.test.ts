/** `POST /mcp` as intruders, and programs that do it wrong, send it. What works is in test/binary/mcp.test.ts. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { ask, type Platform, startPlatform } from "../../../commands/platform.ts";
import { exchange } from "../../../harness/browser-session.ts";

let platform: Platform;
let token: string;

beforeAll(async () => {
  platform = await startPlatform();
  token = await exchange(platform.url, platform.env.SVC_CLIENT_ID ?? "", platform.env.SVC_CLIENT_SECRET ?? "");
}, 300_000);
afterAll(() => platform?.server.stop());

const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

async function send({
  method = "POST",
  path = "/mcp",
  headers = {},
  body = PING,
}: Sent = {}): Promise<{ readonly status: number; readonly text: string; readonly headers: Headers }> {
  const given = { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers };
  const kept = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
  const response = await fetch(platform.url + path, { method, headers: kept, ...(method === "POST" ? { body } : {}) });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

test("a message is answered as JSON that no cache keeps, a notification with nothing", async () => {
  const { status, text, headers } = await send();
  expect([status, JSON.parse(text)]).toEqual([200, { jsonrpc: "2.0", id: 1, result: {} }]);
  expect([headers.get("content-type"), headers.get("cache-control")]).toEqual(["application/json;charset=utf-8", "no-store"]);
  const note = await send({ body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' });
  expect([note.status, note.text]).toEqual([202, ""]);
});

describe("is refused", () => {
  test.each([
    ["without a token, whatever the body is", { headers: { authorization: "" }, body: "x".repeat(1_000_000) }, 401, "no access token"],
    ["with a forged token", { headers: { authorization: "Bearer x.y.z" } }, 401, "token"],
    ["with credentials of another kind", { headers: { authorization: "Basic eDp5" } }, 401, "not a bearer token"],
    ["to read", { method: "GET" }, 405, "Use POST"],
    ["to follow without a token", { method: "GET", headers: { accept: "text/event-stream", authorization: "" } }, 401, "no access token"],
    ["to end a session", { method: "DELETE" }, 405, "Use POST"],
    ["from a page elsewhere", { headers: { origin: "https://evil.example" } }, 403, "other origins"],
    ["under another name of this machine", { headers: { host: "evil.example" } }, 403, "Host header"],
    ["as another type", { headers: { "content-type": "text/plain" } }, 415, "Content-Type: application/json"],
    ["when it is too long", { body: `"${"x".repeat(70_000)}"` }, 413, "longer than 65536 bytes"],
    ["when it is no JSON", { body: "{" }, 400, "is not JSON"],
    ["when it is nothing", { body: "" }, 400, "is not JSON"],
    ["when it is many", { body: `[${PING},${PING}]` }, 400, "one message at a time"],
    ["when it is nested without end", { body: "[".repeat(60_000) }, 400, "is not JSON"],
    ["in a revision of another time", { headers: { "mcp-protocol-version": "1999-01-01" } }, 400, "speaks the revisions"],
    ["with a word for writes that is none", { path: "/mcp?writes=yes" }, 400, "takes true or false"],
  ] as const)("%s", async (_, sent, status, words) => {
    const answer = await send(sent as Sent);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
    const told = `Bearer resource_metadata="${platform.url}/.well-known/oauth-protected-resource/mcp"`;
    if (status === 401) expect(answer.headers.get("www-authenticate")).toBe(told);
  });
});

test("who may not read what changes has no stream of it, and is told that there is none", async () => {
  const made = await ask(platform, "ServiceTokenService/CreateServiceToken", { name: "sender", permissions: ["telemetry.write"] });
  const { clientSecret, serviceToken } = made as { readonly clientSecret: string; readonly serviceToken: { readonly clientId: string } };
  const limited = await exchange(platform.url, serviceToken.clientId, clientSecret);
  const answer = await send({ method: "GET", headers: { accept: "text/event-stream", authorization: `Bearer ${limited}` } });
  expect(answer.status).toBe(405);
});

test("arguments as deep as the message lets them are answered in words", async () => {
  const deep = `${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}`;
  const { status, text } = await send({
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":{"inputs":{"user.id":${deep}}}}}`,
  });
  expect([status, JSON.parse(text).result.isError]).toEqual([200, true]);
});

test("tools act in the environment that the headers name, as for every other call", async () => {
  const call = (headers: Record<string, string>) =>
    send({ headers, body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who_am_i"}}' }).then(
      ({ text }) => JSON.parse(text).result,
    );
  expect(JSON.parse((await call({})).content[0].text).environment_id).toBe(platform.environmentId);
  const elsewhere = await call({ "svc-environment": "nowhere" });
  expect([elsewhere.isError, elsewhere.content[0].text]).toEqual([true, expect.stringContaining("nowhere")]);
});

test("a message and the call that it makes are counted and logged each", async () => {
  await send({ body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who_am_i"}}' });
  const { text } = await send({ method: "GET", path: "/metrics" });
  expect(text).toMatch(/http\w*\{[^}]*endpoint="\/mcp"/);
  expect(text).toMatch(/http\w*\{[^}]*endpoint="\/svc\.v1\.AuthService\/WhoAmI"/);
});
