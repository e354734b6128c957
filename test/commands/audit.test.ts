/** The audit log through the real server and the commands: what has a row, and what it tells. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { exchange, openSession } from "../harness/browser-session.ts";
import { type Platform, runCommand, startPlatform } from "./platform.ts";

interface Row {
  readonly seq: number;
  readonly client_id: string;
  readonly client_name: string;
  readonly session_id: string;
  readonly endpoint: string;
  readonly about: Readonly<Record<string, string>>;
  readonly address: string;
  readonly environment_id: string;
  readonly code: string;
  readonly count: number;
  readonly trace_id: string;
  readonly hash: string;
}

let platform: Platform;
let token: string;
beforeAll(async () => {
  platform = await startPlatform();
  token = await exchange(platform.url, platform.env.SVC_CLIENT_ID ?? "", platform.env.SVC_CLIENT_SECRET ?? "");
});
afterAll(() => platform.server.stop());

const svc = (...words: string[]) => runCommand("audit", words, { home: platform.home, env: platform.env });
const rows = async (...words: string[]): Promise<Row[]> => ((await svc("list", "--json", ...words)).json() as { logs: Row[] }).logs;

function call(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const type = { "content-type": "application/json" };
  return fetch(`${platform.url}${path}`, { method: "POST", headers: { ...type, ...headers }, body: JSON.stringify(body) });
}
const rpc = (method: string, body: object, headers: Record<string, string> = { authorization: `Bearer ${token}` }) =>
  call(`/svc.v1.${method}`, body, headers);

describe("rows", () => {
  test("a call that changes something tells who, what, from where, in which environment, and how it ended", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const headers = { authorization: `Bearer ${token}`, traceparent };
    expect((await rpc("AuthService/DeleteClient", { id: "client_0" }, headers)).status).toBe(404);
    const [row] = await rows("--endpoint", "deleteclient");
    expect(row).toMatchObject({
      client_id: platform.env.SVC_CLIENT_ID as string,
      client_name: "first start",
      session_id: "",
      endpoint: "svc.v1.AuthService/DeleteClient",
      about: { id: "client_0" },
      address: "127.0.0.1",
      environment_id: platform.environmentId,
      code: "not_found",
      count: 1,
      trace_id: "0af7651916cd43dd8448eb211c80319c",
    });
    expect(row?.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  test("a browser session is told beside its client", async () => {
    const session = await openSession(platform.url, token);
    const [entry] = await rows("--endpoint", "RedeemEntry");
    expect(entry).toMatchObject({ client_name: "first start", code: "ok", about: {} });
    expect(entry?.session_id).toMatch(/^ses_/);
    expect((await rpc("AuthService/EndSession", {}, session.headers as Record<string, string>)).status).toBe(200);
    expect((await rows("--endpoint", "EndSession", "--limit", "1"))[0]?.session_id).toBe(entry?.session_id as string);
  });

  test("reading leaves none, and a body that cannot be read leaves one", async () => {
    const before = (await rows()).length;
    expect((await rpc("AuthService/ListClients", {})).status).toBe(200);
    expect((await rows()).length).toBe(before);
    expect((await rpc("AuthService/CreateEntry", { path: 7 })).status).toBe(400);
    expect((await rows("--limit", "1"))[0]).toMatchObject({ endpoint: "svc.v1.AuthService/CreateEntry", code: "invalid_argument" });
  });

  test("a token exchange, and an upload by its signed address", async () => {
    const [exchanged] = await rows("--endpoint", "oauth", "--code", "ok");
    expect(exchanged).toMatchObject({ client_name: "first start", about: { client_id: platform.env.SVC_CLIENT_ID as string } });
    const bytes = new TextEncoder().encode("bundle");
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const upload = (await (await rpc("DeploymentService/CreateUpload", { sha256, sizeBytes: 6 })).json()) as { url: string };
    expect((await fetch(new URL(upload.url, platform.url), { method: "PUT", body: bytes })).status).toBe(201);
    const [put, created] = await rows("--limit", "2");
    expect(put).toMatchObject({ endpoint: "PUT /v1/objects/", about: { object: sha256 }, code: "ok" });
    expect(created).toMatchObject({ endpoint: "svc.v1.DeploymentService/CreateUpload", about: { sha256 } });
    expect((await fetch(new URL(`${upload.url}0`, platform.url), { method: "PUT", body: bytes })).status).toBe(403);
    expect((await rows("--limit", "1"))[0]).toMatchObject({ endpoint: "PUT /v1/objects/", about: {}, code: "permission_denied" });
  });

  test("no secret is told", async () => {
    const text = JSON.stringify(await rows("--limit", "500"));
    expect(text).not.toContain(platform.env.SVC_CLIENT_SECRET as string);
    expect(text).not.toContain(token);
    await call("/svc.v1.AuthService/GetLoginSession", { loginSessionId: "login_1", sessionSecret: "canary-secret" });
    const [row] = await rows("--endpoint", "GetLoginSession");
    expect(row).toMatchObject({ client_id: "", about: { login_session_id: "login_1" }, code: "not_found" });
    expect(JSON.stringify(await rows("--limit", "500"))).not.toContain("canary");
  });

  test("waiting for a login leaves none, and the credentials that it gives out leave one", async () => {
    const opened = (await (await rpc("AuthService/CreateLoginSession", { deviceName: "ci" }, {})).json()) as Record<string, string>;
    const poll = { loginSessionId: opened.loginSessionId, sessionSecret: opened.sessionSecret };
    for (let n = 0; n < 3; n++) expect((await rpc("AuthService/GetLoginSession", poll, {})).status).toBe(200);
    const of = async () => (await rows("--endpoint", "GetLoginSession", "--code", "ok")).length;
    expect(await of()).toBe(0);
    const session = await openSession(platform.url, token);
    const page = await fetch(`${platform.url}/cli/${opened.loginSessionId}`, { headers: session.headers });
    const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())?.[1] ?? "";
    const decided = await fetch(`${platform.url}/cli/${opened.loginSessionId}`, {
      method: "POST",
      headers: { ...session.headers, origin: platform.url, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ csrf, decision: "read" }),
    });
    expect(decided.status).toBe(200);
    expect((await rows("--limit", "1"))[0]).toMatchObject({
      endpoint: "POST /cli/",
      client_name: "first start",
      about: { login_session_id: opened.loginSessionId as string, decision: "read" },
    });
    const got = (await (await rpc("AuthService/GetLoginSession", poll, {})).json()) as { clientId: string };
    expect((await rows("--limit", "1"))[0]).toMatchObject({ client_id: got.clientId, client_name: "ci", code: "ok" });
  });
});

describe("refusals", () => {
  const last = async () => (await rows("--limit", "1"))[0];

  test.each<[what: string, send: () => Promise<Response>, endpoint: string, code: string]>([
    ["a call without credentials", () => rpc("GraphService/GetGraph", {}, {}), "svc.v1.GraphService/GetGraph", "unauthenticated"],
    [
      "a token of nobody",
      () => rpc("GraphService/ListFeatures", {}, { authorization: "Bearer x" }),
      "svc.v1.GraphService/ListFeatures",
      "unauthenticated",
    ],
    ["a query", () => call("/v1/query/online", {}), "/v1/query/online", "unauthenticated"],
    ["a query over Connect", () => rpc("QueryService/Query", {}, {}), "svc.v1.QueryService/Query", "unauthenticated"],
    ["who am I", () => fetch(`${platform.url}/v1/who-am-i`), "/v1/who-am-i", "unauthenticated"],
    ["a page's call", () => rpc("AuthService/WhoAmI", {}, { "svc-page-key": "x" }), "svc.v1.AuthService/WhoAmI", "unauthenticated"],
    ["another site's request", () => rpc("AuthService/WhoAmI", {}, { origin: "https://evil.example" }), "*", "permission_denied"],
  ])("%s", async (_, send, endpoint, code) => {
    const response = await send();
    expect([401, 403]).toContain(response.status);
    expect(await last()).toMatchObject({ endpoint, code, client_id: "" });
  });

  test("a client that lacks a permission is told by name, once in a minute", async () => {
    const body = {
      client_id: platform.env.SVC_CLIENT_ID,
      client_secret: platform.env.SVC_CLIENT_SECRET,
      grant_type: "client_credentials",
      scope: "read",
    };
    const reader = ((await (await call("/v1/oauth/token", body)).json()) as { access_token: string }).access_token;
    const headers = { authorization: `Bearer ${reader}` };
    for (let n = 0; n < 5; n++) expect((await rpc("DeploymentService/CreateUpload", {}, headers)).status).toBe(403);
    const found = await rows("--endpoint", "CreateUpload", "--code", "permission_denied");
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ client_name: "first start", environment_id: platform.environmentId });
    expect((await rpc("AuditService/ListAuditLogs", {}, headers)).status).toBe(403);
  });

  test("a wrong secret names the client that it was tried for, and never one that there is not", async () => {
    const wrong = (id: string) => call("/v1/oauth/token", { client_id: id, client_secret: "wrong", grant_type: "client_credentials" });
    expect((await wrong(platform.env.SVC_CLIENT_ID ?? "")).status).toBe(401);
    expect(await last()).toMatchObject({
      client_id: "",
      about: { client_id: platform.env.SVC_CLIENT_ID as string },
      code: "unauthenticated",
    });
    expect((await wrong("client_nobody")).status).toBe(401);
    expect(JSON.stringify(await rows("--endpoint", "oauth"))).not.toContain("nobody");
  });
});

describe("commands", () => {
  test("a list as a table, by page, and without rows", async () => {
    const table = await svc("list", "--limit", "2", "--endpoint", "CreateUpload");
    expect(table.stdout.split("\n")[0]).toMatch(/^Time +Agent +Endpoint +Code$/);
    expect(table.stdout).toContain("first start");
    const token = /--page-token (\S+)/.exec((await svc("list", "--limit", "1")).stderr)?.[1] ?? "";
    const [first, second] = await rows("--limit", "2");
    expect((await rows("--limit", "1", "--page-token", token))[0]).toEqual(second as Row);
    expect((await rows("--limit", "1", "--page-token", token))[0]?.seq).toBe((first?.seq ?? 0) - 1);
    const hour = /--page-token (\S+)/.exec((await svc("list", "--limit", "1", "--since", "1h")).stderr)?.[1] ?? "";
    expect((await rows("--limit", "1", "--since", "1h", "--page-token", hour))[0]).toEqual(second as Row);
    const foreign = await svc("list", "--limit", "1", "--page-token", token, "--code", "ok");
    expect([foreign.exitCode, foreign.stderr]).toEqual([1, expect.stringContaining("does not belong to this list")]);
    const none = await svc("list", "--agent", "nobody");
    expect([none.exitCode, none.stderr]).toEqual([0, expect.stringContaining("No audit logs found.")]);
    expect((await svc("list", "--limit", "0")).exitCode).toBe(2);
    expect(await rows("--since", "1h", "--until", "2020-01-01")).toEqual([]);
    expect((await svc("list", "--environment-id", "nowhere")).exitCode).toBe(1);
  });

  test("endpoints derive from the contract", async () => {
    const { endpoints } = (await svc("endpoints", "--json")).json() as { endpoints: { endpoint: string; audited_fields: string[] }[] };
    const of = (name: string) => endpoints.find(({ endpoint }) => endpoint.endsWith(name));
    expect(of("AuthService/DeleteClient")?.audited_fields).toEqual(["id"]);
    expect(of("AuthService/GetLoginSession")?.audited_fields).toEqual(["login_session_id"]);
    expect(of("POST /v1/oauth/token")).toBeDefined();
    expect([of("QueryService/Query"), of("GraphService/GetGraph")]).toEqual([undefined, undefined]);
    const csv = (await svc("endpoints", "--csv")).stdout.split("\n");
    expect(csv[0]).toBe("Endpoint,Request Type,Response Type,Audited Fields");
    expect(csv).toContain("svc.v1.AuthService/DeleteClient,svc.v1.DeleteClientRequest,svc.v1.DeleteClientResponse,id");
    expect((await svc("endpoints", "--csv", "--json")).exitCode).toBe(2);
  });

  test("verify holds, and ends with 1 and the first broken row when somebody changed one", async () => {
    const sound = await svc("verify", "--json");
    expect(sound.exitCode).toBe(0);
    const { rows: count, head_hash: head } = sound.json() as { rows: number; head_hash: string };
    expect(count).toBeGreaterThan(10);
    expect((await svc("verify", "--noted-hash", head)).exitCode).toBe(0);
    expect((await svc("verify", "--noted-hash", "1".repeat(64))).exitCode).toBe(1);
    expect((await svc("verify", "--noted-hash", "x")).exitCode).toBe(2);
    const db = new Database(join(platform.home, "data/meta.db"));
    db.run("update audit set client_name = 'somebody else' where seq = 3");
    const broken = await svc("verify");
    expect([broken.exitCode, broken.stdout]).toEqual([1, expect.stringContaining("Row 3 is not as it was written")]);
    db.run("update audit set client_name = 'first start' where seq = 3");
    db.close();
  });

  test("a call whose row cannot be kept says so", async () => {
    const db = new Database(join(platform.home, "data/meta.db"));
    db.run("alter table audit rename to audit_away");
    const answer = await rpc("AuthService/EndSessions", {});
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("the audit log could not keep a row of it")]);
    const body = { client_id: platform.env.SVC_CLIENT_ID, client_secret: platform.env.SVC_CLIENT_SECRET, grant_type: "client_credentials" };
    expect((await call("/v1/oauth/token", body)).status).toBe(503);
    expect((await rpc("AuthService/WhoAmI", {})).status).toBe(200);
    expect((await rpc("AuthService/WhoAmI", {}, {})).status).toBe(401);
    db.run("alter table audit_away rename to audit");
    db.close();
  });
});
