/**
 * Applications that a person lets in: the official client of the Model Context Protocol finds the
 * way by itself, and what it must not get is refused.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Client, type OAuthClientProvider, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import { AuthService } from "../../../gen/svc/v1/auth_pb.ts";
import { isRedirectOf, isVerifierOf, mayRedirectTo } from "../../../src/server/access/oauth-apps.ts";
import { decideLogin } from "../../harness/browser-session.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";

const folder = new TempFolder();
let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(folder.path);
  expectLive(await deploy(server, GREETING));
}, 300_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const REDIRECT = "http://127.0.0.1:3118/callback";
const VERIFIER = "v".repeat(43);
const challengeOf = (verifier: string) => new Bun.CryptoHasher("sha256").update(verifier).digest("base64url");
type Answer = Readonly<Record<string, string>>;

const register = (metadata: Readonly<Record<string, unknown>>) =>
  fetch(`${server.url}/v1/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "An agent", redirect_uris: [REDIRECT], ...metadata }),
  });
const idOf = async (metadata = {}) => ((await (await register(metadata)).json()) as Answer).client_id ?? "";
const authorize = (parameters: Answer) => {
  const usual = { response_type: "code", redirect_uri: REDIRECT, code_challenge: challengeOf(VERIFIER), code_challenge_method: "S256" };
  return fetch(`${server.url}/v1/oauth/authorize?${new URLSearchParams({ ...usual, ...parameters })}`, { redirect: "manual" });
};
const token = async (fields: Answer): Promise<readonly [number, Answer]> => {
  const answer = await fetch(`${server.url}/v1/oauth/token`, { method: "POST", body: new URLSearchParams(fields) });
  return [answer.status, (await answer.json()) as Answer];
};
/** The address that a decided login sends the browser back to. */
const backFrom = async (page: string, decision: "all" | "read" | "deny" | "other"): Promise<URL> => {
  const html = await (await decideLogin(page, await server.session(), decision)).text();
  const [, link = ""] = /<a class="button primary" href="([^"]+)"/.exec(html) ?? [];
  expect(html).toContain("An agent");
  return new URL(link.replaceAll("&amp;", "&"));
};
/** A code for an application, which a person let in. */
const codeFor = async (id: string, decision: "all" | "read" = "all"): Promise<string> => {
  const page = (await authorize({ client_id: id })).headers.get("location") ?? "";
  return (await backFrom(page, decision)).searchParams.get("code") ?? "";
};
const exchange = (id: string, code: string, more: Answer = {}) =>
  token({ grant_type: "authorization_code", client_id: id, code, code_verifier: VERIFIER, redirect_uri: REDIRECT, ...more });

test("the official client is let in by a person, and stays in until it is shut out", async () => {
  const kept: {
    client?: Parameters<NonNullable<OAuthClientProvider["saveClientInformation"]>>[0];
    tokens?: Awaited<ReturnType<OAuthClientProvider["tokens"]>>;
    verifier: string;
    sentTo?: URL;
  } = { verifier: "" };
  const authProvider: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: "An agent", redirect_uris: [REDIRECT] },
    state: () => "state-1",
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void Object.assign(kept, { client }),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (url) => void Object.assign(kept, { sentTo: url }),
    saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier,
  };
  const transport = () => new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { authProvider });
  const first = transport();
  await expect(new Client({ name: "test", version: "1" }).connect(first)).rejects.toBeInstanceOf(UnauthorizedError);
  const sent = await fetch(kept.sentTo ?? "", { redirect: "manual" });
  const page = sent.headers.get("location") ?? "";
  expect([sent.status, page]).toEqual([303, expect.stringMatching(/\/cli\/login_\w+\?app=v1\./)]);
  const back = await backFrom(page, "read");
  expect([back.origin + back.pathname, back.searchParams.get("state"), back.searchParams.get("iss")]).toEqual([
    REDIRECT,
    "state-1",
    server.url,
  ]);
  await first.finishAuth(back.searchParams);

  const ask = async () => {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(transport());
    const { content } = await client.callTool({ name: "who_am_i" });
    await client.close();
    return JSON.parse((content as { text: string }[])[0]?.text ?? "") as { user_id: string; permissions: string[] };
  };
  const { permissions, user_id: before } = await ask();
  expect(permissions).toEqual(["read"]);
  // A token that has ended is replaced by itself, and so is the client that it was of.
  kept.tokens = kept.tokens && { ...kept.tokens, access_token: "over" };
  const { user_id: after } = await ask();
  expect(after).not.toBe(before);
  const { clients } = await server.client(AuthService).listClients({});
  const own = clients.filter(({ name }) => name.includes("An agent"));
  expect(own.map(({ id, name }) => [id, name])).toEqual([[after, "An agent (127.0.0.1:3118)"]]);
  await server.client(AuthService).deleteClient({ id: after });
  await expect(ask()).rejects.toThrow();
}, 300_000);

describe("a code", () => {
  test("is worth something once, to who began, with the verifier, at the address", async () => {
    const [id, other] = [await idOf(), await idOf({ client_name: "Another" })];
    const code = await codeFor(id);
    for (const [app, more] of [
      [other, {}],
      [id, { code_verifier: "w".repeat(43) }],
      [id, { code_verifier: challengeOf(VERIFIER) }],
      [id, { redirect_uri: "http://127.0.0.1:3119/callback" }],
      [id, { code: `${code.slice(0, -2)}xx` }],
    ] as const)
      expect(await exchange(app, code, more)).toEqual([400, expect.objectContaining({ error: "invalid_grant" })]);
    const [status, given] = await exchange(id, code);
    expect([status, given.scope]).toEqual([200, "read query.online deploy admin"]);
    expect(await exchange(id, code)).toEqual([400, expect.objectContaining({ error: "invalid_grant" })]);
    for (const missing of ["code", "code_verifier", "client_id"])
      expect(await exchange(id, code, { [missing]: "" })).toEqual([400, expect.objectContaining({ error: "invalid_request" })]);
  }, 300_000);

  test("is not given before a person decides, nor to who is denied", async () => {
    const id = await idOf();
    const page = (await authorize({ client_id: id, state: "s" })).headers.get("location") ?? "";
    const session = await server.session();
    const html = await (await fetch(page, { headers: session.headers })).text();
    expect(html).toContain("Let an application in?");
    expect(html).not.toContain("code=");
    expect(html).not.toContain('value="other"');
    expect((await decideLogin(page, session, "other")).status).toBe(400);
    const back = await backFrom(page, "deny");
    expect([...back.searchParams.keys()].sort()).toEqual(["error", "iss", "state"]);
    expect(back.searchParams.get("error")).toBe("access_denied");
  }, 300_000);

  test("goes with the page of its own login alone", async () => {
    const id = await idOf();
    const pages = await Promise.all([1, 2].map(async () => new URL((await authorize({ client_id: id })).headers.get("location") ?? "")));
    const mixed = `${server.url}${pages[0]?.pathname}${pages[1]?.search}`;
    const { headers } = await server.session();
    expect((await fetch(mixed, { headers })).status).toBe(404);
    expect((await fetch(`${server.url}${pages[0]?.pathname}?app=v1.x.y.z`, { headers })).status).toBe(404);
    // Without a session of a browser the page tells nothing.
    expect(await (await fetch(pages[0] ?? "")).text()).not.toContain("An agent");
  }, 300_000);
});

test("a refresh token works once, for its application, and of two at once for one", async () => {
  const [id, other] = [await idOf(), await idOf({ client_name: "Another" })];
  const [, first] = await exchange(id, await codeFor(id, "read"));
  const refresh = (app: string, refreshToken = first.refresh_token ?? "") =>
    token({ grant_type: "refresh_token", client_id: app, refresh_token: refreshToken });
  expect(await refresh(other)).toEqual([400, expect.objectContaining({ error: "invalid_grant" })]);
  expect(await refresh(id, "v1.x.y.z")).toEqual([400, expect.objectContaining({ error: "invalid_grant" })]);
  const both = await Promise.all([refresh(id), refresh(id)]);
  expect(both.map(([status]) => status).sort()).toEqual([200, 400]);
  const [, next = {}] = both.find(([status]) => status === 200) ?? [];
  expect(next.scope).toBe("read");
  const asked = (access: string | undefined) =>
    fetch(`${server.url}/v1/who-am-i`, { headers: { authorization: `Bearer ${access}` } }).then(({ status }) => status);
  expect([await asked(first.access_token), await asked(next.access_token)]).toEqual([401, 200]);
}, 300_000);

test("an application is sent nowhere but to its own address, with what was wrong", async () => {
  const id = await idOf({ redirect_uris: [REDIRECT, "https://agent.example.com/back?x=1"] });
  const nowhere: readonly Answer[] = [
    { client_id: "" },
    { client_id: "app_x.y" },
    { client_id: `${id}x` },
    { client_id: id, redirect_uri: "https://evil.example.com/" },
    { client_id: id, redirect_uri: "https://agent.example.com/back" },
    { client_id: id, redirect_uri: "http://127.0.0.1:3118/other" },
  ];
  for (const parameters of nowhere) {
    const { headers, status } = await authorize(parameters);
    expect([parameters, status, headers.get("location")]).toEqual([parameters, 400, null]);
  }
  for (const [parameters, error] of [
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ code_challenge_method: "plain" }, "invalid_request"],
    [{ code_challenge: "short" }, "invalid_request"],
    [{ resource: "https://elsewhere.example.com" }, "invalid_target"],
    [{ state: "x".repeat(1_001) }, "invalid_request"],
  ] as const) {
    const to = new URL(
      (await authorize({ client_id: id, redirect_uri: "http://127.0.0.1:9/callback", ...parameters } as Answer)).headers.get("location") ??
        "",
    );
    expect([to.origin, to.searchParams.get("error")]).toEqual(["http://127.0.0.1:9", error]);
  }
});

test.each([
  { redirect_uris: [] },
  { redirect_uris: "x" },
  { redirect_uris: ["http://example.com/"] },
  { redirect_uris: ["javascript:alert(1)"] },
  { redirect_uris: ["https://u:p@example.com/"] },
  { redirect_uris: Array.from({ length: 6 }, () => REDIRECT) },
  { client_name: "" },
  { client_name: "x".repeat(101) },
  { client_name: "agent\u202e" },
  { client_name: 7 },
])("%j registers nothing", async (metadata) => expect((await register(metadata)).status).toBe(400));

test("addresses and verifiers", () => {
  const app = { name: "x", redirectUris: [REDIRECT] };
  expect(isRedirectOf(app, "http://127.0.0.1:50000/callback")).toBe(true);
  for (const address of ["http://localhost:3118/callback", "https://127.0.0.1:3118/callback", `${REDIRECT}#x`, "x"])
    expect([address, isRedirectOf(app, address)]).toEqual([address, false]);
  expect(mayRedirectTo(`https://example.com/${"x".repeat(500)}`)).toBe(false);
  expect([isVerifierOf(VERIFIER, challengeOf(VERIFIER)), isVerifierOf("short", challengeOf("short"))]).toEqual([true, false]);
});
