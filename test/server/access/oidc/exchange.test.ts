/** What a fake of a provider answers, that no real one does, and what becomes of the login. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { AuthService } from "../../../../gen/svc/v1/auth_pb.ts";
import { type FakeAnswers, FakeProvider } from "../../../harness/fake-provider.ts";
import { Visitor } from "../../../harness/identity-provider.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";

const SECRET = "a-secret-of-svc-that-is-long-enough-for-hs256";
const folder = new TempFolder();
let fake: FakeProvider;
let server: TestServer;

beforeAll(async () => {
  fake = await FakeProvider.start("svc");
  mkdirSync(join(folder.path, "data"), { recursive: true });
  writeFileSync(join(folder.path, "secret"), `${SECRET}\n`, { mode: 0o600 });
  const settings = {
    issuer: fake.issuer,
    client_id: "svc",
    client_secret_file: join(folder.path, "secret"),
    roles: { platform: "viewer" },
  };
  await Bun.write(join(folder.path, "data/server.yaml"), JSON.stringify({ login: { oidc: settings } }));
  server = await TestServer.start(folder.path);
});
afterEach(() => {
  fake.answers = {};
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  fake?.[Symbol.dispose]();
  folder[Symbol.dispose]();
});

/** Logs in at the fake; the status, and the text of the page or the address that follows. */
async function logIn(answers: FakeAnswers = {}): Promise<[number, string]> {
  const visitor = new Visitor();
  const sent = await visitor.go(`${server.url}/login/oidc`);
  const away = new URL(sent.headers.get("location") ?? "");
  fake.nonce = away.searchParams.get("nonce") ?? "";
  fake.answers = answers;
  const back = new URL(away.searchParams.get("redirect_uri") ?? "");
  back.search = new URLSearchParams({ code: "a-code", state: away.searchParams.get("state") ?? "" }).toString();
  const response = await visitor.go(back.href);
  return [response.status, response.headers.get("location") ?? (await response.text())];
}

/** Logs in at the fake, and expects that nobody is logged in. */
async function expectRefused(answers: FakeAnswers, status: number, reason: string): Promise<void> {
  const [got, text] = await logIn(answers);
  expect([got, text]).toEqual([status, expect.stringContaining(reason)]);
  for (const secret of [SECRET, "opaque", "a-code", fake.nonce]) expect(text).not.toContain(secret);
  expect((await server.client(AuthService).listClients({})).clients.filter(({ isPerson }) => isPerson)).toEqual([]);
}

describe("an ID token is refused", () => {
  const CASES: Readonly<Record<string, [FakeAnswers, string]>> = {
    "with another nonce": [{ claims: (right) => ({ ...right, nonce: "x" }) }, "is of another login"],
    "without a nonce": [{ claims: ({ nonce: _, ...others }) => others }, "is of another login"],
    "for another audience": [{ claims: (right) => ({ ...right, aud: "other" }) }, "ERR_JWT_CLAIM_VALIDATION_FAILED"],
    "for two audiences that does not say to whom it was given": [
      { claims: (right) => ({ ...right, aud: ["svc", "other"] }) },
      "for another client",
    ],
    "that was given to another client": [{ claims: (right) => ({ ...right, azp: "other" }) }, "for another client"],
    "of another issuer": [{ claims: (right) => ({ ...right, iss: "https://evil.example" }) }, "ERR_JWT_CLAIM_VALIDATION_FAILED"],
    "that has expired": [{ claims: (right) => ({ ...right, exp: Math.floor(Date.now() / 1000) - 61 }) }, "ERR_JWT_EXPIRED"],
    "that never expires": [{ claims: ({ exp: _, ...others }) => others }, "ERR_JWT_CLAIM_VALIDATION_FAILED"],
    "that names nobody": [{ claims: (right) => ({ ...right, sub: "" }) }, "names nobody"],
    "without a signature": [{ sign: async (claims) => new UnsecuredJWT(claims).encode() }, "not valid"],
    "signed with the client's secret": [
      { sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(SECRET)) },
      "ERR_JOSE_ALG_NOT_ALLOWED",
    ],
    "signed with a key of somebody else": [
      {
        sign: async (claims) =>
          new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one" }).sign((await generateKeyPair("ES256")).privateKey),
      },
      "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
    ],
    "that is no token": [{ sign: async () => "x.y.z" }, "not valid"],
  };
  test.each(Object.entries(CASES))("%s", (_, [answers, reason]) => expectRefused(answers, 401, reason));
});

describe("an answer is refused", () => {
  const LONG = "x".repeat(300 * 1024);
  const CASES: Readonly<Record<string, [FakeAnswers, number, string]>> = {
    "that is too long": [{ token: () => Response.json({ id_token: LONG }) }, 503, "more than 256 KiB"],
    "without an ID token": [{ token: () => Response.json({ access_token: "opaque" }) }, 401, "has no ID token"],
    "that is not JSON": [{ token: () => new Response("<html>") }, 401, "has no ID token"],
    "that leads elsewhere": [{ token: () => Response.redirect("https://evil.example/") }, 503, "a redirect, which is not followed"],
    "of a provider that fails": [{ token: () => new Response("down", { status: 500 }) }, 503, "answered 500"],
    "that says no, in a few words": [
      { token: () => Response.json({ error: `invalid\u202e_grant${"x".repeat(5000)}` }, { status: 400 }) },
      401,
      "did not take the code (invalid _grant",
    ],
    "about somebody else": [
      { claims: ({ groups: _, ...others }) => others, userinfo: () => Response.json({ sub: "other", groups: ["platform"] }) },
      401,
      "is about somebody else",
    ],
    "about the person that is too long": [
      { claims: ({ groups: _, ...others }) => others, userinfo: () => Response.json({ sub: "dora", groups: [LONG] }) },
      503,
      "more than 256 KiB",
    ],
    "about the person that fails": [
      { claims: ({ groups: _, ...others }) => others, userinfo: () => new Response("", { status: 500 }) },
      503,
      "answered 500 when asked about the person",
    ],
    "with groups that are no names": [
      { claims: (right) => ({ ...right, groups: [{ name: "platform" }, 7, "", null] }) },
      403,
      "stated no groups",
    ],
  };
  test.each(Object.entries(CASES))("%s", (_, [answers, status, reason]) => expectRefused(answers, status, reason));
});

test("names and groups are shown as text, and those without end in part", async () => {
  const groups = ["<script>alert(1)</script>", ...Array.from({ length: 3000 }, (_, at) => `g${at}`)];
  const [status, text] = await logIn({ claims: (right) => ({ ...right, email: "<b>\u202ex", groups }) });
  expect([status, text]).toEqual([403, expect.stringContaining("and 1950 more")]);
  expect(text).not.toContain("<script");
  expect(text).not.toContain("<b>");
  expect(text).not.toContain("\u202e");
});

test("of a group that is one name, from the userinfo endpoint, and a clock that is a little late, somebody is logged in", async () => {
  const late = Math.floor(Date.now() / 1000) - 30;
  const [status, location] = await logIn({
    claims: ({ groups: _, ...others }) => ({ ...others, exp: late }),
    userinfo: () => Response.json({ sub: "dora", groups: "platform", email: "not-verified@example.com", email_verified: false }),
  });
  expect([status, location]).toEqual([303, expect.stringContaining("/enter#code=")]);
  const [person] = (await server.client(AuthService).listClients({})).clients.filter(({ isPerson }) => isPerson);
  expect(person).toMatchObject({ permissions: ["read"] });
});

test("the client's secret is proved as the provider takes it, and a code with the verifier of its login", async () => {
  const ask = async (methods: readonly string[] | undefined) => {
    server.clock.advance(3_600_001);
    fake.answers = { discovery: (told) => Response.json({ ...told, token_endpoint_auth_methods_supported: methods }) };
    await logIn();
    return fake.exchange;
  };
  const basic = await ask(undefined);
  expect(basic?.authorization).toBe(`Basic ${btoa(`svc:${SECRET}`)}`);
  expect([basic?.body.get("client_secret"), basic?.body.get("code")]).toEqual([null, "a-code"]);
  expect(basic?.body.get("code_verifier")).toMatch(/^[\w-]{43,128}$/);
  const post = await ask(["client_secret_post"]);
  expect([post?.authorization, post?.body.get("client_id"), post?.body.get("client_secret")]).toEqual([null, "svc", SECRET]);
  server.clock.advance(-2 * 3_600_001);
});

test("no code, no state and no cookie come to nothing, without a call of the provider", async () => {
  const before = fake.asked.get("/token") ?? 0;
  const back = `${server.url}/login/oidc/callback`;
  for (const query of ["", "?state=x", "?code=x", "?code=x&state=y", `?state=${"s".repeat(5000)}`])
    expect((await new Visitor().go(back + query)).status).toBe(401);
  expect((await fetch(back, { method: "POST" })).status).toBe(405);
  expect(fake.asked.get("/token") ?? 0).toBe(before);
});

test("the log says why a login failed, and no secret", async () => {
  await logIn({ claims: (right) => ({ ...right, nonce: "x" }) });
  const lines = JSON.stringify(server.log);
  expect(lines).toContain("is of another login");
  for (const secret of [SECRET, "opaque", "a-code", fake.nonce]) expect(lines).not.toContain(secret);
});
