import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Code, type ConnectError } from "@connectrpc/connect";
import { AuthService, LoginSessionStatus } from "../../gen/svc/v1/auth_pb.ts";
import { TempFolder, TestServer } from "./running-server.ts";

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
const open = (deviceName = "laptop") => auth().createLoginSession({ deviceName });
const poll = (session: { loginSessionId: string; sessionSecret: string }) =>
  auth().getLoginSession({ loginSessionId: session.loginSessionId, sessionSecret: session.sessionSecret });

interface Page {
  readonly html: string;
  readonly csrf: string;
  readonly cookie: string;
}

async function visit(url: string, cookie?: string): Promise<Page> {
  const response = await fetch(url, cookie === undefined ? {} : { headers: { cookie } });
  const html = await response.text();
  return {
    html,
    csrf: /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? "",
    cookie: cookie ?? (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "",
  };
}

function decide(url: string, fields: Record<string, string>, headers: Record<string, string>): Promise<Response> {
  return fetch(url, { method: "POST", body: new URLSearchParams(fields), headers, redirect: "manual" });
}

async function confirm(url: string, decision = "confirm"): Promise<Response> {
  const page = await visit(url);
  return decide(url, { csrf: page.csrf, decision }, { cookie: page.cookie, origin: server.url });
}

describe("login sessions", () => {
  test("are confirmed on the page, and give credentials once that work", async () => {
    const session = await open();
    expect(session.url).toBe(`${server.url}/cli/${session.loginSessionId}`);
    expect((await poll(session)).status).toBe(LoginSessionStatus.PENDING);
    const response = await confirm(session.url);
    expect([response.status, response.headers.get("location")]).toEqual([303, `/cli/${session.loginSessionId}`]);
    const confirmed = await poll(session);
    expect(confirmed).toMatchObject({ status: LoginSessionStatus.CONFIRMED, environmentId: server.credentials.environmentId });
    expect((await server.exchange(confirmed.clientId, confirmed.clientSecret)).status).toBe(200);
    expect(await poll(session)).toMatchObject({ status: LoginSessionStatus.EXPIRED, clientSecret: "" });
    expect((await visit(session.url)).html).toContain("Logged in");
  });

  test("give their credentials to one of many who ask at once", async () => {
    const session = await open();
    await confirm(session.url);
    const answers = await Promise.all(Array.from({ length: 20 }, () => poll(session)));
    expect(answers.filter(({ status }) => status === LoginSessionStatus.CONFIRMED)).toHaveLength(1);
  });

  test("denied stays denied", async () => {
    const session = await open();
    const before = await visit(session.url);
    expect((await decide(session.url, { csrf: before.csrf, decision: "deny" }, { cookie: before.cookie, origin: server.url })).status).toBe(
      303,
    );
    expect(
      (await decide(session.url, { csrf: before.csrf, decision: "confirm" }, { cookie: before.cookie, origin: server.url })).status,
    ).toBe(303);
    expect((await poll(session)).status).toBe(LoginSessionStatus.DENIED);
    expect((await visit(session.url)).html).toContain("Denied");
  });

  test("end after ten minutes, pending or confirmed", async () => {
    const [pending, confirmed] = [await open(), await open()];
    await confirm(confirmed.url);
    const page = await visit(pending.url);
    server.clock.advance(600_001);
    expect((await poll(pending)).status).toBe(LoginSessionStatus.EXPIRED);
    expect((await poll(confirmed)).status).toBe(LoginSessionStatus.EXPIRED);
    expect((await visit(pending.url)).html).toContain("Too late");
    await decide(pending.url, { csrf: page.csrf, decision: "confirm" }, { cookie: page.cookie, origin: server.url });
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
});

describe("the page", () => {
  test("a decision must come from the page, in the browser that saw it", async () => {
    const session = await open();
    const page = await visit(session.url);
    const other = await visit((await open()).url);
    const fields = { csrf: page.csrf, decision: "confirm" };
    const attacks: [Record<string, string>, Record<string, string>][] = [
      [fields, { cookie: page.cookie }],
      [fields, { cookie: page.cookie, origin: "http://evil.example" }],
      [fields, { origin: server.url }],
      [fields, { cookie: other.cookie, origin: server.url }],
      [{ decision: "confirm" }, { cookie: page.cookie, origin: server.url }],
      [
        { csrf: other.csrf, decision: "confirm" },
        { cookie: page.cookie, origin: server.url },
      ],
    ];
    for (const [form, headers] of attacks) expect((await decide(session.url, form, headers)).status).toBe(403);
    expect((await decide(session.url, { csrf: page.csrf, decision: "maybe" }, { cookie: page.cookie, origin: server.url })).status).toBe(
      400,
    );
    expect((await poll(session)).status).toBe(LoginSessionStatus.PENDING);
    expect((await decide(session.url, fields, { cookie: page.cookie, origin: server.url })).status).toBe(303);
  });

  test("escapes the device's name, and has a policy that runs no script and allows no frame", async () => {
    const name = `<script>alert(1)</script>"'\u202e\u001b[31m`;
    const { url } = await open(name);
    const response = await fetch(url);
    const html = await response.text();
    expect(html).not.toContain("<script");
    expect(html).toContain("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;\\u202e\\u001b[31m");
    expect(response.headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self'; frame-ancestors 'none'/,
    );
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    expect(response.headers.get("set-cookie")).toContain("HttpOnly; SameSite=Strict");
  });

  test("the style's digest in the policy is that of the style in the page", async () => {
    const response = await fetch((await open()).url);
    const style = /<style>([\s\S]*?)<\/style>/.exec(await response.text())?.[1] ?? "";
    const digest = new Bun.CryptoHasher("sha256").update(style).digest("base64");
    expect(response.headers.get("content-security-policy")).toContain(`'sha256-${digest}'`);
  });

  test("an unknown session is 404; without a dashboard the other pages are too", async () => {
    expect((await fetch(`${server.url}/cli/login_00`)).status).toBe(404);
    expect((await fetch(`${server.url}/cli/anything`)).status).toBe(404);
    expect((await fetch(`${server.url}/`)).status).toBe(404);
  });
});
