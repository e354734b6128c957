/** Logins of persons at a real identity provider. */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AuditService } from "../../../../gen/svc/v1/audit_pb.ts";
import { AuthService, LoginSessionStatus } from "../../../../gen/svc/v1/auth_pb.ts";
import { ServiceTokenService } from "../../../../gen/svc/v1/service_token_pb.ts";
import { decideLogin, redeem, type TestSession } from "../../../harness/browser-session.ts";
import { type Directory, IdentityProvider, Visitor } from "../../../harness/identity-provider.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";

const PERSONS = {
  alice: { email: "alice@example.com", email_verified: true, groups: ["platform", "everybody"] },
  bob: { email: "bob@example.com", email_verified: true, groups: ["data-science"] },
  carol: { email: "carol@example.com", email_verified: true, groups: ["sales"] },
  mallory: { email: "alice@example.com", email_verified: true, groups: ["everybody"] },
};

const folder = new TempFolder();
let provider: IdentityProvider;
let server: TestServer;

beforeAll(async () => {
  provider = await IdentityProvider.start();
  mkdirSync(join(folder.path, "data"), { recursive: true });
  await Bun.write(
    join(folder.path, "data/server.yaml"),
    `login:
  oidc:
    issuer: ${provider.issuer}
    client_id: svc
    session_lifetime: 8h
    roles:
      platform: admin
      data-science: developer
      everybody: viewer
      staging-team: {role: operator, environments: [default]}
`,
  );
  server = await TestServer.start(folder.path, { env: { ...process.env, SVC_OIDC_CLIENT_SECRET: "a-secret-of-svc" } });
  await know();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  provider?.[Symbol.dispose]();
  folder[Symbol.dispose]();
});

const start = (to = "/") => `${server.url}/login/oidc?${new URLSearchParams({ to }).toString()}`;
const client = () => ({ clientId: "svc", clientSecret: "a-secret-of-svc", redirectUris: [`${server.url}/login/oidc/callback`] });
const know = (persons: Directory["persons"] = {}) => provider.know({ clients: [client()], persons: { ...PERSONS, ...persons } });

/** Logs a person in, and returns the page that the browser goes to, with its session. */
async function logIn(person: string, to = "/"): Promise<{ readonly to: string; readonly session: TestSession }> {
  const visitor = new Visitor();
  const back = await visitor.signIn(start(to), person);
  const response = await visitor.go(back.href);
  const entrance = new URL(response.headers.get("location") ?? "", server.url);
  const fragment = new URLSearchParams(entrance.hash.slice(1));
  return { to: fragment.get("to") ?? "", session: await redeem(server.url, fragment.get("code") ?? "") };
}

const clients = async () => (await server.client(AuthService).listClients({})).clients;
const whoAmI = async (session: TestSession) => {
  const response = await fetch(`${server.url}/svc.v1.AuthService/WhoAmI`, {
    method: "POST",
    headers: { ...session.headers, "content-type": "application/json" },
    body: "{}",
  });
  return { status: response.status, ...((await response.json()) as { name?: string; userId?: string; expiresAt?: string }) };
};

describe("a login", () => {
  test("opens a session with the role of the person's groups, and goes to the page that was asked for", async () => {
    const { session, to } = await logIn("bob", "/environments/x?a=1#b");
    expect(to).toBe("/environments/x?a=1#b");
    const me = await whoAmI(session);
    expect(me).toMatchObject({ status: 200, name: "bob@example.com" });
    expect(Date.parse(me.expiresAt ?? "") - server.clock.now()).toBeWithin(7.9 * 3_600_000, 8 * 3_600_000 + 1);
    const known = (await clients()).find(({ id }) => id === me.userId);
    expect(known).toMatchObject({
      name: "bob@example.com",
      permissions: ["read", "query.online", "query.offline", "data.write", "telemetry.write", "deploy"],
      isPerson: true,
    });
    const again = await whoAmI((await logIn("bob")).session);
    expect(again.userId).toBe(me.userId ?? "");
  });

  test("leaves a row in the audit log, of the person and from where", async () => {
    const { session } = await logIn("alice");
    const { userId = "" } = await whoAmI(session);
    const { logs } = await server.client(AuditService).listAuditLogs({ client: userId, endpoint: "login/oidc" });
    expect(logs[0]).toMatchObject({ clientName: "alice@example.com", code: "ok", address: "127.0.0.1" });
  });

  test("of somebody whose groups have no role says which were seen, and makes no client", async () => {
    const visitor = new Visitor();
    const response = await visitor.go((await visitor.signIn(start(), "carol")).href);
    const text = await response.text();
    expect([response.status, text]).toEqual([403, expect.stringContaining("<code>sales</code>")]);
    expect((await clients()).map(({ name }) => name)).not.toContain("carol@example.com");
    const { logs } = await server.client(AuditService).listAuditLogs({ endpoint: "login/oidc", code: "permission_denied" });
    expect(logs[0]).toMatchObject({ clientName: "carol@example.com", address: "127.0.0.1" });
  });

  test("with the mail address of another person is of another person", async () => {
    const [alice, mallory] = [await whoAmI((await logIn("alice")).session), await whoAmI((await logIn("mallory")).session)];
    expect(mallory.name).toBe(alice.name ?? "");
    expect(mallory.userId).not.toBe(alice.userId ?? "");
    expect((await clients()).find(({ id }) => id === mallory.userId)?.permissions).toEqual(["read"]);
  });

  test("that the person denies says so", async () => {
    const visitor = new Visitor();
    const { url } = await visitor.follow(start());
    const sent = await visitor.go(url.href, { method: "POST", body: new URLSearchParams({ deny: "1" }) });
    const { page } = await visitor.follow(new URL(sent.headers.get("location") ?? "", url).href);
    expect([page?.status, await page?.text()]).toEqual([403, expect.stringContaining("access_denied: The person said no")]);
  });

  test("ends after its lifetime, whether it is used or not", async () => {
    const { session } = await logIn("bob");
    server.clock.advance(4 * 3_600_000);
    expect((await whoAmI(session)).status).toBe(200);
    server.clock.advance(4 * 3_600_000 + 1000);
    expect((await whoAmI(session)).status).toBe(401);
    server.clock.advance(-8 * 3_600_000 - 1000);
  });
});

describe("the way back", () => {
  test("works once, and in the browser that went alone", async () => {
    const visitor = new Visitor();
    const back = await visitor.signIn(start(), "bob");
    expect((await new Visitor().go(back.href)).status).toBe(401);
    const names = [...visitor.cookies(new URL(server.url).host).keys()];
    const cookie = names.map((name) => `${name}=svcl_${"x".repeat(43)}`).join("; ");
    expect([names.length, (await fetch(back, { redirect: "manual", headers: { cookie } })).status]).toEqual([1, 401]);
    expect(await Promise.all([visitor.go(back.href), visitor.go(back.href)].map(async (one) => (await one).status))).toContain(303);
    expect((await visitor.go(back.href)).status).toBe(401);
  });

  test("gives one of many that come back at once a session", async () => {
    const visitor = new Visitor();
    const back = await visitor.signIn(start(), "bob");
    const cookie = [...visitor.cookies(new URL(server.url).host)].map((pair) => pair.join("=")).join("; ");
    const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(back, { redirect: "manual", headers: { cookie } })));
    expect(answers.map(({ status }) => status).filter((status) => status === 303)).toHaveLength(1);
  });

  test("is that of one login: states and codes of two do not mix", async () => {
    const [one, other] = [new Visitor(), new Visitor()];
    const [back, foreign] = [await one.signIn(start(), "bob"), await other.signIn(start(), "alice")];
    const mixed = new URL(back);
    mixed.searchParams.set("code", foreign.searchParams.get("code") ?? "");
    const response = await one.go(mixed.href);
    expect([response.status, await response.text()]).toEqual([401, expect.stringContaining("did not take the code (invalid_grant)")]);
  });

  test("from another issuer, and without one, is refused", async () => {
    for (const issuer of ["https://evil.example", undefined]) {
      const visitor = new Visitor();
      const back = await visitor.signIn(start(), "bob");
      if (issuer === undefined) back.searchParams.delete("iss");
      else back.searchParams.set("iss", issuer);
      const response = await visitor.go(back.href);
      expect([response.status, await response.text()]).toEqual([401, expect.stringContaining("did not come back from")]);
    }
  });

  test("is too late after ten minutes", async () => {
    const visitor = new Visitor();
    const back = await visitor.signIn(start(), "bob");
    server.clock.advance(600_001);
    expect((await visitor.go(back.href)).status).toBe(401);
    server.clock.advance(-600_001);
  });

  test("leads to pages of this server only", async () => {
    for (const to of ["//evil.example/x", "https://evil.example/", "/\\\\evil.example", "/.//evil.example/x", "javascript:alert(1)", "x"]) {
      const response = await new Visitor().go(start(to));
      expect([to, response.status, response.headers.get("location")]).toEqual([to, 400, null]);
    }
  });

  test("begins at the address that the provider knows", async () => {
    const response = await new Visitor().go(start("/x?y=1").replace("127.0.0.1", "localhost"));
    expect(response.headers.get("location")).toBe(start("/x?y=1"));
  });
});

test("a server that ended meanwhile finishes the login that was begun before", async () => {
  using own = new TempFolder();
  mkdirSync(join(own.path, "data"), { recursive: true });
  const settings = { issuer: provider.issuer, client_id: "svc", everyone: "viewer" };
  await Bun.write(join(own.path, "data/server.yaml"), JSON.stringify({ login: { oidc: settings } }));
  const before = await TestServer.start(own.path);
  const { url, credentials } = before;
  await provider.know({ clients: [{ clientId: "svc", redirectUris: [`${url}/login/oidc/callback`] }], persons: PERSONS });
  const visitor = new Visitor();
  const back = await visitor.signIn(`${url}/login/oidc`, "bob");
  await before[Symbol.asyncDispose]();
  await using after = await TestServer.start(own.path, { credentials, port: Number(new URL(url).port) });
  expect([after.url, (await visitor.go(back.href)).status]).toEqual([url, 303]);
  await know();
});

test("many browsers of one address are sent at a time, and others still are", async () => {
  const send = (address: string) =>
    fetch(start(), { redirect: "manual", headers: { "x-forwarded-for": `203.0.113.9, ${address}` } }).then(({ status }) => status);
  expect(new Set(await Promise.all(Array.from({ length: 50 }, () => send("192.0.2.7"))))).toEqual(new Set([303]));
  expect([await send("192.0.2.7"), await send("192.0.2.8")]).toEqual([429, 303]);
});

/** The stored record of a client. */
function clientOf(id: string): { readonly personId: string } | null {
  using db = new Database(join(folder.path, "data/meta.db"), { readonly: true });
  return db.query<{ personId: string }, [string]>("select person_id as personId from client where id = ?").get(id);
}

describe("a command line", () => {
  const open = () => server.client(AuthService, { token: null }).createLoginSession({ deviceName: "laptop" });
  const poll = ({ loginSessionId, sessionSecret }: { loginSessionId: string; sessionSecret: string }) =>
    server.client(AuthService, { token: null }).getLoginSession({ loginSessionId, sessionSecret });

  /** Logs a command line in that a person confirms. */
  async function confirm(session: TestSession, answer: "all" | "read" = "all") {
    const login = await open();
    const page = await decideLogin(login.url, session, answer);
    const given = await poll(login);
    return { page: await page.text(), ...given };
  }
  const tokenOf = async ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) =>
    ((await (await server.exchange(clientId, clientSecret)).json()) as { access_token?: string; scope?: string; expires_at?: string }) ??
    {};

  test("is the person's own: no more than the person may, in the person's name, until the login ends", async () => {
    const { session } = await logIn("bob");
    const me = await whoAmI(session);
    const login = await open();
    expect(await (await fetch(login.url, { headers: session.headers })).text()).toContain(
      "read, query.online, query.offline, data.write, telemetry.write, deploy",
    );
    const { page, ...given } = await confirm(session);
    expect([page, given.status]).toEqual([expect.stringContaining("Logged in"), LoginSessionStatus.CONFIRMED]);
    const token = await tokenOf(given);
    expect(token.scope).toBe("read query.online query.offline data.write telemetry.write deploy");
    const who = await server.client(AuthService, { token: token.access_token ?? "" }).whoAmI({});
    expect([who.name, who.userId]).toEqual(["bob@example.com", given.clientId]);
    const known = (await clients()).find(({ id }) => id === given.clientId);
    expect(known).toMatchObject({ name: "bob@example.com on laptop", parentId: me.userId, isPerson: false });
    expect(Number(known?.expiresAt?.seconds)).toBe(Math.floor(Date.parse(me.expiresAt ?? "") / 1000));
    server.clock.advance(8 * 3_600_000 + 1000);
    const late = await server.exchange(given.clientId, given.clientSecret);
    expect([late.status, await late.text()]).toEqual([401, expect.stringContaining("The login has ended")]);
    server.clock.advance(-8 * 3_600_000 - 1000);
  });

  test("makes service tokens that act for the person and outlast the login", async () => {
    const { session } = await logIn("alice");
    const { userId } = await whoAmI(session);
    const { access_token: token = "" } = await tokenOf(await confirm(session));
    const { serviceToken } = await server.client(ServiceTokenService, { token }).createServiceToken({ name: "ci", permissions: ["read"] });
    expect(await clientOf(serviceToken?.clientId ?? "")).toMatchObject({ personId: userId });
    expect(serviceToken?.expiresAt).toBeUndefined();
  });

  test("cannot log others in: neither itself nor its browser", async () => {
    const given = await confirm((await logIn("alice")).session);
    const { access_token: token = "" } = await tokenOf(given);
    const { code } = await server.client(AuthService, { token }).createEntry({});
    const browser = await redeem(server.url, code);
    const refused = await confirm(browser);
    expect(refused.status).toBe(LoginSessionStatus.PENDING);
    const login = await open();
    expect(await (await fetch(login.url, { headers: browser.headers })).text()).toContain(`Log in with ${new URL(provider.issuer).host}`);
  });

  test("loses what the person loses, at once and with the token that it has", async () => {
    await know({ bob: { ...PERSONS.bob, groups: ["platform"] } });
    const { session } = await logIn("bob");
    const given = await confirm(session);
    const { access_token: token = "", scope } = await tokenOf(given);
    expect(scope).toBe("admin");
    const mine = server.client(AuthService, { token });
    expect((await mine.listClients({})).clients.length).toBeGreaterThan(1);
    await know({ bob: { ...PERSONS.bob, groups: ["everybody"] } });
    await logIn("bob");
    expect((await mine.listClients({})).clients).toMatchObject([{ id: given.clientId, permissions: ["read"] }]);
    expect((await tokenOf(given)).scope).toBe("read");
    expect((await whoAmI(session)).status).toBe(200);
    await know({ bob: { ...PERSONS.bob, groups: [] } });
    const visitor = new Visitor();
    expect((await visitor.go((await visitor.signIn(start(), "bob")).href)).status).toBe(403);
    expect([(await whoAmI(session)).status, (await server.exchange(given.clientId, given.clientSecret)).status]).toEqual([401, 401]);
    expect(await mine.whoAmI({}).catch((error: unknown) => String(error))).toContain("was deleted");
    await know();
  });

  test("may be limited to environments with the person's role", async () => {
    await know({ bob: { ...PERSONS.bob, groups: ["staging-team", "everybody"] } });
    const { session } = await logIn("bob");
    const given = await confirm(session);
    expect(given.environmentId).toBe(server.credentials.environmentId);
    const token = await tokenOf(given);
    expect(token.scope?.split(" ")).not.toContain("infra.write");
    const refused = await server
      .client(AuditService, { token: token.access_token ?? "" })
      .listAuditLogs({})
      .catch((error: unknown) => String(error));
    expect(refused).toContain("permission");
    await know();
  });

  test("ends with the person whom an administrator deletes, and a confirmed login gives nothing any more", async () => {
    const { session } = await logIn("alice");
    const { userId: id = "" } = await whoAmI(session);
    const given = await confirm(session, "read");
    const waiting = await open();
    await decideLogin(waiting.url, session, "all");
    const { endedSessions } = await server.client(AuthService).deleteClient({ id });
    expect(endedSessions).toBeGreaterThan(0);
    expect((await whoAmI(session)).status).toBe(401);
    expect((await server.exchange(given.clientId, given.clientSecret)).status).toBe(401);
    const late = await poll(waiting);
    expect(late.status).toBe(LoginSessionStatus.DENIED);
    expect((await clients()).filter(({ parentId }) => parentId === id)).toEqual([]);
  });
});
