import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AuthService, LoginSessionStatus } from "../../../gen/svc/v1/auth_pb.ts";
import { DeploymentService } from "../../../gen/svc/v1/deployment_pb.ts";
import { callAuth, decideLogin, exchange, makeEntry, openSession, redeem } from "../../harness/browser-session.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";

const folder = new TempFolder();
let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start(folder.path, { allowedHosts: ["svc.example.com"] });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

type Headers = Readonly<Record<string, string>>;
const bearer = async (): Promise<Headers> => ({ authorization: `Bearer ${await server.token()}` });
const whoAmI = async (headers: Headers) => (await callAuth(server.url, "WhoAmI", {}, headers)).status;
const codeOf = async (response: Response | Promise<Response>) => ((await (await response).json()) as { code?: string }).code;
const HOUR = 3_600_000;

/** Runs `work` with the clock put forward, then puts it back. */
async function later<T>(ms: number, work: () => Promise<T>): Promise<T> {
  server.clock.advance(ms);
  try {
    return await work();
  } finally {
    server.clock.advance(-ms);
  }
}

async function newClient(decision: "all" | "read"): Promise<{ id: string; token: string }> {
  const auth = server.client(AuthService, { token: null });
  const { loginSessionId, sessionSecret, url } = await auth.createLoginSession({ deviceName: "other" });
  await decideLogin(url, await server.session(), decision);
  const { status, clientId, clientSecret } = await auth.getLoginSession({ loginSessionId, sessionSecret });
  expect(status).toBe(LoginSessionStatus.CONFIRMED);
  return { id: clientId, token: await exchange(server.url, clientId, clientSecret) };
}

describe("an entry", () => {
  test("has an address of this server whose secret is in the fragment", async () => {
    const { code, url, expiresAt } = await server.client(AuthService).createEntry({ path: "/environments/a b?x=1&y=%2F#stages" });
    expect(code).toMatch(/^[\w-]{32}$/);
    expect(url).toBe(`${server.url}/enter#code=${code}&to=${encodeURIComponent("/environments/a%20b?x=1&y=%2F#stages")}`);
    expect(Number(expiresAt?.seconds) * 1000 - server.clock.now()).toBeWithin(100_000, 121_000);
  });

  test("leads to no other server", async () => {
    for (const path of [
      "//evil.example",
      "/\\evil.example",
      "https://evil.example/",
      "evil",
      "/".padEnd(3000, "x"),
      "/\t/evil.example",
      "/.//evil.example",
      "/x/..//evil.example",
    ])
      expect([path, await codeOf(callAuth(server.url, "CreateEntry", { path }, await bearer()))]).toEqual([path, "invalid_argument"]);
  });

  test("works once, of many who try at once too, and for two minutes", async () => {
    const code = await makeEntry(server.url, await server.token());
    const answers = await Promise.all(Array.from({ length: 10 }, () => callAuth(server.url, "RedeemEntry", { code })));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    const late = await makeEntry(server.url, await server.token());
    await later(120_001, async () => expect(await codeOf(callAuth(server.url, "RedeemEntry", { code: late }))).toBe("not_found"));
    expect(await codeOf(callAuth(server.url, "RedeemEntry", { code: "x" }))).toBe("not_found");
  });

  test("needs credentials, and a browser session is none", async () => {
    expect(await codeOf(callAuth(server.url, "CreateEntry", {}))).toBe("unauthenticated");
    expect(await codeOf(callAuth(server.url, "CreateEntry", {}, (await server.session()).headers))).toBe("permission_denied");
    const reader = await openSession(server.url, await server.token(), { readOnly: true });
    expect(await codeOf(callAuth(server.url, "CreateEntry", {}, reader.headers))).toBe("permission_denied");
  });

  test("is kept as a digest only", async () => {
    const code = await makeEntry(server.url, await server.token());
    const { cookie, pageKey } = await server.session();
    const kept = await Promise.all(["meta.db", "meta.db-wal"].map((name) => Bun.file(`${folder.path}/data/${name}`).text()));
    for (const secret of [code, pageKey, cookie.split("=")[1] ?? ""]) expect(kept.some((text) => text.includes(secret))).toBe(false);
    expect(server.log.some((line) => JSON.stringify(line).includes(code))).toBe(false);
  });
});

describe("a session", () => {
  test("calls with both halves, as its client; the cookie is for no script and no other site", async () => {
    const session = await openSession(server.url, await server.token());
    const port = server.server.port;
    expect(session.setCookie).toMatch(
      new RegExp(`^svc_session_${port}=svcb_[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000$`),
    );
    const me = (await (await callAuth(server.url, "WhoAmI", {}, session.headers)).json()) as { userId: string };
    expect(me.userId).toBe(server.credentials.clientId);
    const halves: Headers[] = [{ cookie: session.cookie }, { "svc-page-key": session.pageKey }];
    for (const half of halves) expect(await whoAmI(half)).toBe(401);
    const other = await openSession(server.url, await server.token());
    expect(await whoAmI({ cookie: session.cookie, "svc-page-key": other.pageKey })).toBe(401);
    const body = { inputs: {}, outputs: [] };
    const query = await fetch(`${server.url}/v1/query/online`, { method: "POST", headers: session.headers, body: JSON.stringify(body) });
    expect(query.status).not.toBe(401);
  });

  test("is no caller for other sites and hosts", async () => {
    const { headers } = await server.session();
    const others: Headers[] = [
      { origin: "http://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { host: "evil.example" },
    ];
    for (const other of others) expect([other, await whoAmI({ ...headers, ...other })]).toEqual([other, 403]);
    expect(await whoAmI({ ...headers, origin: server.url, "sec-fetch-site": "same-origin" })).toBe(200);
  });

  test("may what its client may; read-only it may read, and neither deploy nor delete its client", async () => {
    const reader = await openSession(server.url, await server.token(), { readOnly: true });
    const client = server.client(DeploymentService, { token: null, headers: reader.headers });
    const error = await client.createUpload({ sha256: "0".repeat(64), sizeBytes: 1n }).catch((reason: unknown) => String(reason));
    expect(error).toContain("lack the permission 'deploy'");
    expect((await client.listDeployments({})).deployments).toEqual([]);
    const own = server.credentials.clientId;
    expect(await codeOf(callAuth(server.url, "DeleteClient", { id: own }, reader.headers))).toBe("not_found");
    expect(await whoAmI(reader.headers)).toBe(200);
  });

  test("ends twelve hours after its last use, and thirty days after it began", async () => {
    const session = await openSession(server.url, await server.token());
    let at = 0;
    const usable = (hours: number) => {
      at += hours * HOUR;
      return later(at, () => whoAmI(session.headers));
    };
    expect([await usable(11.9), await usable(11.9), await usable(11.9)]).toEqual([200, 200, 200]);
    expect(await usable(12.1)).toBe(401);
    const used = await openSession(server.url, await server.token());
    at = 0;
    const hours = [];
    for (; at < 31 * 24 * HOUR; at += 11 * HOUR) hours.push(await later(at, () => whoAmI(used.headers)));
    expect(hours.lastIndexOf(200)).toBe(Math.ceil((30 * 24) / 11) - 1);
    expect(hours.slice(0, hours.indexOf(401)).every((status) => status === 200)).toBe(true);
  });

  test("ends when it logs out, and a browser that logs in anew leaves its old one", async () => {
    const session = await openSession(server.url, await server.token());
    const response = await callAuth(server.url, "EndSession", {}, session.headers);
    expect(response.headers.get("set-cookie")).toMatch(/^svc_session_\d+=; Path=\/; HttpOnly; SameSite=Strict; Max-Age=0$/);
    expect(await whoAmI(session.headers)).toBe(401);
    const old = await openSession(server.url, await server.token());
    const anew = await redeem(server.url, await makeEntry(server.url, await server.token()), { cookie: old.cookie });
    expect([await whoAmI(old.headers), await whoAmI(anew.headers)]).toEqual([401, 200]);
  });

  test("survives a restart; the owner's does not, nor do his credentials", async () => {
    using elsewhere = new TempFolder();
    const first = await TestServer.start(elsewhere.path);
    const session = await openSession(first.url, await first.token());
    const file = Bun.file(`${elsewhere.path}/data/server.owner.json`);
    const owner = (await file.json()) as { url: string; client_id: string; client_secret: string };
    expect([owner.url, (await file.stat()).mode & 0o777]).toEqual([first.url, 0o600]);
    const ownersToken = await exchange(first.url, owner.client_id, owner.client_secret);
    const owners = await openSession(first.url, ownersToken);
    const known = (await (await callAuth(first.url, "ListClients", {}, owners.headers)).json()) as { clients: { id: string }[] };
    expect(known.clients.map(({ id }) => id)).toEqual([first.credentials.clientId]);
    const port = first.server.port;
    await first[Symbol.asyncDispose]();
    expect(await file.exists()).toBe(false);
    await using second = await TestServer.start(elsewhere.path, { credentials: first.credentials, port });
    const status = async (headers: Headers) => (await callAuth(second.url, "WhoAmI", {}, headers)).status;
    expect(await status(session.headers)).toBe(200);
    expect(await status(owners.headers)).toBe(401);
    expect(await status({ authorization: `Bearer ${ownersToken}` })).toBe(401);
    expect(await exchange(second.url, owner.client_id, owner.client_secret)).toBeUndefined();
  });
});

describe("who is logged in", () => {
  test("a client sees and ends its own; an administrator all", async () => {
    const reader = await newClient("read");
    const [own, others] = [await openSession(server.url, reader.token), await openSession(server.url, await server.token())];
    const asReader = { authorization: `Bearer ${reader.token}` };
    const list = async (method: string, key: string, headers: Headers) =>
      ((await (await callAuth(server.url, method, {}, headers)).json()) as Record<string, { id: string; current?: boolean }[]>)[key] ?? [];
    expect((await list("ListClients", "clients", asReader)).map(({ id }) => id)).toEqual([reader.id]);
    expect((await list("ListClients", "clients", await bearer())).map(({ id }) => id)).toContain(reader.id);
    const ownSessions = await list("ListSessions", "sessions", own.headers);
    expect(ownSessions.map(({ current }) => current)).toEqual([true]);
    const all = await list("ListSessions", "sessions", others.headers);
    const current = all.find((session) => session.current)?.id ?? "";
    expect(all.map(({ id }) => id)).toContain(ownSessions[0]?.id ?? "");
    expect(await codeOf(callAuth(server.url, "EndSession", { id: current }, asReader))).toBe("not_found");
    expect(await whoAmI(others.headers)).toBe(200);
    expect((await callAuth(server.url, "EndSession", { id: ownSessions[0]?.id }, await bearer())).status).toBe(200);
    expect(await whoAmI(own.headers)).toBe(401);
    expect(await codeOf(callAuth(server.url, "EndSession", {}, await bearer()))).toBe("invalid_argument");
  });

  test("a client that was deleted is refused at its next request, whatever it had", async () => {
    const { id, token } = await newClient("all");
    const session = await openSession(server.url, token);
    const asItself = { authorization: `Bearer ${token}` };
    expect([await whoAmI(asItself), await whoAmI(session.headers)]).toEqual([200, 200]);
    const answer = (await (await callAuth(server.url, "DeleteClient", { id }, asItself)).json()) as { endedSessions: number };
    expect(answer.endedSessions).toBe(1);
    expect([await whoAmI(asItself), await whoAmI(session.headers)]).toEqual([401, 401]);
    expect(await codeOf(callAuth(server.url, "DeleteClient", { id }, await bearer()))).toBe("not_found");
    expect(await codeOf(callAuth(server.url, "DeleteClient", {}, await bearer()))).toBe("invalid_argument");
  });

  test("a login that a deleted client confirmed gives no credentials", async () => {
    const { id, token } = await newClient("all");
    const auth = server.client(AuthService, { token: null });
    const login = await auth.createLoginSession({ deviceName: "late" });
    await decideLogin(login.url, await openSession(server.url, token), "all");
    await callAuth(server.url, "DeleteClient", { id }, { authorization: `Bearer ${token}` });
    const { loginSessionId, sessionSecret } = login;
    expect((await auth.getLoginSession({ loginSessionId, sessionSecret })).status).toBe(LoginSessionStatus.DENIED);
  });
});

describe("behind a proxy", () => {
  test("addresses are the proxy's where its name is allowed, and the cookie is secure where its connection is", async () => {
    const at = { host: "svc.example.com", ...(await bearer()) };
    const urlOf = async (headers: Headers) =>
      ((await (await callAuth(server.url, "CreateEntry", {}, headers)).json()) as { url: string }).url.replace(/#.*/, "");
    expect(await urlOf({ ...at, "x-forwarded-proto": "https" })).toBe("https://svc.example.com/enter");
    expect(await urlOf(at)).toBe("http://svc.example.com/enter");
    expect(await urlOf({ ...(await bearer()), "x-forwarded-proto": "https" })).toBe(`${server.url}/enter`);
    const me = (await (await callAuth(server.url, "WhoAmI", {}, at)).json()) as { dashboardUrl: string };
    expect(me.dashboardUrl).toBe("http://svc.example.com");
    const { clientId, clientSecret } = server.credentials;
    const exchanged = await fetch(`${server.url}/v1/oauth/token`, {
      method: "POST",
      headers: { host: "svc.example.com", "content-type": "application/json" },
      body: JSON.stringify({ client_id: clientId, client_secret: clientSecret, grant_type: "client_credentials" }),
    });
    expect(Object.values(((await exchanged.json()) as { engines: object }).engines)).toEqual(["http://svc.example.com"]);
    const code = await makeEntry(server.url, await server.token());
    const secure = await redeem(server.url, code, { host: "svc.example.com", "x-forwarded-proto": "https" });
    expect(secure.setCookie).toEndWith("; Secure");
  });
});
