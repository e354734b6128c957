import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Code, type ConnectError } from "@connectrpc/connect";
import { AuthService, LoginSessionStatus } from "../../../gen/svc/v1/auth_pb.ts";
import { createLoginSessions } from "../../../src/server/access/login-sessions.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { decideLogin, openSession, type TestSession } from "../../harness/browser-session.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";

const folder = new TempFolder();
let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start(folder.path, { headless: true });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const auth = () => server.client(AuthService, { token: null });
const open = (deviceName = "laptop", headers: Record<string, string> = {}) =>
  server.client(AuthService, { token: null, headers }).createLoginSession({ deviceName });
const poll = (session: { loginSessionId: string; sessionSecret: string }) =>
  auth().getLoginSession({ loginSessionId: session.loginSessionId, sessionSecret: session.sessionSecret });
const decide = async (url: string, answer: Parameters<typeof decideLogin>[2] = "all") => decideLogin(url, await server.session(), answer);

async function read(url: string, session?: TestSession): Promise<{ status: number; html: string; csrf: string }> {
  const response = await fetch(url, { headers: (session ?? (await server.session())).headers });
  const html = await response.text();
  return { status: response.status, html, csrf: /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? "" };
}

describe("login sessions", () => {
  test("are confirmed on the page, and give credentials once that work", async () => {
    const session = await open();
    expect(session.url).toBe(`${server.url}/cli/${session.loginSessionId}`);
    expect((await poll(session)).status).toBe(LoginSessionStatus.PENDING);
    const response = await decide(session.url);
    expect([response.status, (await response.text()).includes("Logged in")]).toEqual([200, true]);
    const confirmed = await poll(session);
    expect(confirmed).toMatchObject({ status: LoginSessionStatus.CONFIRMED, environmentId: server.credentials.environmentId });
    expect((await server.exchange(confirmed.clientId, confirmed.clientSecret)).status).toBe(200);
    expect(await poll(session)).toMatchObject({ status: LoginSessionStatus.EXPIRED, clientSecret: "" });
    expect((await read(session.url)).html).toContain("Logged in");
  });

  test("give what the person who confirms may, or reading alone", async () => {
    const clients = [];
    for (const answer of ["all", "read"] as const) {
      const session = await open(answer);
      await decide(session.url, answer);
      clients.push((await poll(session)).clientId);
    }
    const known = new Map((await server.client(AuthService).listClients({})).clients.map(({ id, permissions }) => [id, permissions]));
    expect(clients.map((id) => known.get(id))).toEqual([["read", "query.online", "deploy", "admin"], ["read"]]);
  });

  test("act for the person who confirms, unless they are another person's", async () => {
    const persons = [];
    for (const answer of ["all", "read", "other"] as const) {
      const session = await open(answer);
      await decide(session.url, answer);
      using db = new Database(join(folder.path, "data/meta.db"), { readonly: true });
      persons.push(db.query("select person_id as person from client where id = ?").get((await poll(session)).clientId));
    }
    expect(persons).toEqual([{ person: "owner" }, { person: "owner" }, { person: null }]);
  });

  test("give their credentials to one of many who ask at once", async () => {
    const session = await open();
    await decide(session.url);
    const answers = await Promise.all(Array.from({ length: 20 }, () => poll(session)));
    expect(answers.filter(({ status }) => status === LoginSessionStatus.CONFIRMED)).toHaveLength(1);
  });

  test("denied stays denied", async () => {
    const session = await open();
    const { csrf } = await read(session.url);
    expect(await (await decide(session.url, "deny")).text()).toContain("Denied");
    const again = await fetch(session.url, {
      method: "POST",
      headers: { ...(await server.session()).headers, origin: server.url },
      body: new URLSearchParams({ csrf, decision: "all" }),
    });
    expect(await again.text()).toContain("Denied");
    expect((await poll(session)).status).toBe(LoginSessionStatus.DENIED);
  });

  test("end after ten minutes, pending or confirmed", async () => {
    const [pending, confirmed] = [await open(), await open()];
    await decide(confirmed.url);
    server.clock.advance(600_001);
    expect((await poll(pending)).status).toBe(LoginSessionStatus.EXPIRED);
    expect((await poll(confirmed)).status).toBe(LoginSessionStatus.EXPIRED);
    expect((await read(pending.url)).html).toContain("Too late");
    await decide(pending.url);
    expect((await poll(pending)).status).toBe(LoginSessionStatus.EXPIRED);
    server.clock.advance(-600_001);
  });

  test("a wrong secret and an unknown session are not found", async () => {
    const session = await open();
    for (const wrong of [
      { ...session, sessionSecret: "svcl_x" },
      { ...session, loginSessionId: "login_00" },
    ]) {
      const error = await poll(wrong).catch((reason: unknown) => reason);
      expect((error as ConnectError).code).toBe(Code.NotFound);
    }
  });

  test("of one address only so many wait at a time, and others still can", async () => {
    const from = (address: string) => ({ "x-forwarded-for": `203.0.113.9, ${address}` });
    const opened = await Promise.all(Array.from({ length: 50 }, () => open("flood", from("192.0.2.7"))));
    const refused = await open("flood", from("192.0.2.7")).catch((error: unknown) => error as ConnectError);
    expect(refused).toMatchObject({ code: Code.ResourceExhausted });
    expect((await open("other", from("192.0.2.8"))).userCode).toMatch(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/);
    expect(new Set(opened.map(({ userCode }) => userCode)).size).toBe(50);
    await decide(opened[0]?.url ?? "", "deny");
    expect((await open("flood", from("192.0.2.7"))).loginSessionId).toStartWith("login_");
  });
});

test("a login is decided by an administrator, whatever page or method asks", async () => {
  using own = new TempFolder();
  const metadata = createSqliteMetadataStore({ path: join(own.path, "meta.db"), programVersion: "1" });
  const sessions = createLoginSessions({ metadata, clock: server.clock });
  const { id } = await sessions.open("laptop", "192.0.2.1");
  const person = { clientId: "client_1", teamId: "team_1", sessionId: "ses_1" };
  for (const answer of ["all", "read", "deny"] as const) {
    const refused = await sessions.decide(id, { ...person, permissions: ["read", "deploy"] }, answer).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: "permission_denied" });
  }
  expect((await sessions.view(id))?.state).toBe("pending");
  expect(await sessions.decide(id, { ...person, permissions: ["admin", "read"] }, "all")).toBe(true);
  expect(await metadata.loginSession(id)).toMatchObject({ state: "confirmed", permissions: ["admin", "read"] });
  await metadata.close();
});

describe("the page", () => {
  test("without both halves of a session there is a shell without data, and no decision", async () => {
    const session = await open("secret-device");
    const own = await server.session();
    const { csrf } = await read(session.url);
    const cases: Record<string, string>[] = [
      {},
      { cookie: own.cookie },
      { "svc-page-key": own.pageKey },
      { cookie: own.cookie, "svc-page-key": "svcb_x" },
    ];
    for (const headers of cases) {
      const seen = await fetch(session.url, { headers });
      const text = await seen.text();
      expect(seen.status).toBe("svc-page-key" in headers ? 401 : 200);
      expect(text).not.toContain("secret-device");
      expect(text).not.toContain(session.userCode);
      const response = await fetch(session.url, {
        method: "POST",
        headers: { ...headers, origin: server.url },
        body: new URLSearchParams({ csrf, decision: "all" }),
      });
      expect(response.status).toBe(401);
    }
    expect((await poll(session)).status).toBe(LoginSessionStatus.PENDING);
  });

  test("a decision must come from the page, in the session that saw it", async () => {
    const session = await open();
    const own = await server.session();
    const other = await openSession(server.url, await server.token());
    const page = await read(session.url);
    const elsewhere = await read((await open()).url);
    const fields = { csrf: page.csrf, decision: "all" };
    const attacks: [Record<string, string>, Record<string, string>][] = [
      [fields, own.headers],
      [fields, { ...own.headers, origin: "http://evil.example" }],
      [fields, { ...own.headers, origin: "null" }],
      [fields, { ...own.headers, origin: server.url, "sec-fetch-site": "cross-site" }],
      [fields, { ...other.headers, origin: server.url }],
      [{ decision: "all" }, { ...own.headers, origin: server.url }],
      [
        { csrf: elsewhere.csrf, decision: "all" },
        { ...own.headers, origin: server.url },
      ],
    ];
    const post = async (form: Record<string, string>, headers: Record<string, string>) =>
      (await fetch(session.url, { method: "POST", body: new URLSearchParams(form), headers })).status;
    for (const [form, headers] of attacks) expect(await post(form, headers)).toBe(403);
    expect(await post({ csrf: page.csrf, decision: "maybe" }, { ...own.headers, origin: server.url })).toBe(400);
    expect((await poll(session)).status).toBe(LoginSessionStatus.PENDING);
    expect(await post(fields, { ...own.headers, origin: server.url })).toBe(200);
    expect((await poll(session)).status).toBe(LoginSessionStatus.CONFIRMED);
  });

  test("a session that may not administer sees the login and cannot confirm it", async () => {
    const session = await open();
    const reader = await openSession(server.url, await server.token(), { readOnly: true });
    const page = await read(session.url, reader);
    expect([page.status, page.csrf]).toEqual([200, ""]);
    expect(page.html).toContain("lacks the permission 'admin'");
    expect((await decideLogin(session.url, reader, "all")).status).toBe(403);
    expect((await poll(session)).status).toBe(LoginSessionStatus.PENDING);
  });

  test("names the device, the address and the code, escaped, and has a policy that runs nothing of the page's text", async () => {
    const name = `<script>alert(1)</script>"'\u202e\u001b[31m`;
    const { url, userCode } = await open(name, { "x-forwarded-for": "192.0.2.33" });
    const response = await fetch(url, { headers: (await server.session()).headers });
    const html = await response.text();
    expect(html).not.toContain("<script");
    expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;\\u202e\\u001b[31m");
    expect(html).toContain("192.0.2.33");
    expect(html).toContain(userCode);
    expect(response.headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; " +
        "base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(response.headers.get("x-frame-options")).toBe("DENY");
  });

  test("an unknown session is 404; without a dashboard the other pages are too, and the entrance is there", async () => {
    const { headers } = await server.session();
    expect((await fetch(`${server.url}/cli/login_00`, { headers })).status).toBe(404);
    expect((await fetch(`${server.url}/cli/anything`, { headers })).status).toBe(404);
    expect((await fetch(`${server.url}/`, { headers })).status).toBe(404);
    expect((await fetch(`${server.url}/enter`)).status).toBe(200);
  });
});
