import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { AuthService, CreateLoginSessionResponseSchema, GetLoginSessionResponseSchema } from "../../gen/svc/v1/auth_pb.ts";
import { HealthService } from "../../gen/svc/v1/health_pb.ts";
import { messageText } from "../../src/client/message-text.ts";
import { createRedactor, REDACTED } from "../../src/client/redact.ts";
import { report } from "../../src/errors/report.ts";
import { lacksProgram } from "../harness/needs.ts";
import { errorAnswer, type FakeServer, fakeServer, protoAnswer, tokenAnswer } from "./fake-server.ts";
import { type TestContext, tempFolder, testContext } from "./test-context.ts";

const SECRET = 'c4nary-"secret"/+=-é';
const TOKEN = "eyJhbGciOiJFZERTQSJ9.c4naryTokenBody.c4narySignature";
const SESSION_SECRET = "c4nary-session-secret";
const health = HealthService.method.checkHealth.output;

const servers: FakeServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});
const folder = mkdtempSync(join(tmpdir(), "svc-redact-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function serve(...args: Parameters<typeof fakeServer>): FakeServer {
  const server = fakeServer({ exchange: () => tokenAnswer(TOKEN), ...args[0] });
  servers.push(server);
  return server;
}

/** Every spelling in which a secret could get out. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [secret, encodeURIComponent(secret), bytes.toString("base64"), bytes.toString("base64url"), JSON.stringify(secret).slice(1, -1)];
}
function expectClean(text: string): void {
  for (const secret of [SECRET, TOKEN, SESSION_SECRET]) for (const spelling of spellings(secret)) expect(text).not.toContain(spelling);
  expect(text).not.toContain("c4narySignature");
}
async function run(server: FakeServer, work: (made: TestContext) => Promise<unknown>, env: Record<string, string> = {}): Promise<string> {
  const made = await testContext({
    env: { SVC_API_SERVER: server.url, SVC_CLIENT_ID: "client", SVC_CLIENT_SECRET: SECRET, ...env },
    flags: { verbose: true, debug: true },
    clock: { now: Date.now, sleep: async () => undefined },
  });
  for (const json of [false, true]) await work(made).catch((error: unknown) => report(error, made.context.io, { json, debug: true }));
  const said = made.stderr();
  expect(said.length).toBeGreaterThan(100);
  expectClean(said);
  return said;
}
const check = async ({ context }: TestContext) => (await context.api.health()).checkHealth({});

describe("-vv shows requests, responses and headers without secrets", () => {
  test("a call that works", async () => {
    const server = serve({
      call: () => protoAnswer(health, { checks: [{ name: "Metadata DB", message: `said ${SECRET} and ${TOKEN}` }] }),
    });
    const said = await run(server, check);
    expect(said).toContain("/svc.v1.HealthService/CheckHealth");
    expect(said).toContain(`authorization: ${REDACTED}`);
    expect(said).toContain("Metadata DB");
    expect(said).toContain("< 200");
  });
  const echoes: [name: string, response: () => Response][] = [
    ["a Connect error", () => errorAnswer(400, "invalid_argument", `you sent ${SECRET} with ${TOKEN}`)],
    ["an unknown error", () => Response.json({ message: `secret=${encodeURIComponent(SECRET)}` }, { status: 500 })],
    ["a web page", () => new Response(`<title>${SECRET}</title>`, { headers: { "content-type": "text/html" } })],
    [
      "headers",
      () =>
        new Response("", { status: 503, headers: { "set-cookie": `session=${TOKEN}`, "x-echo": Buffer.from(SECRET).toString("base64") } }),
    ],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: `https://x.example.com/?access_token=${TOKEN}` } })],
    ["a refused token", () => errorAnswer(401, "unauthenticated", `token ${TOKEN} is wrong`)],
  ];
  for (const [name, response] of echoes) test(`${name} that echoes them`, async () => void (await run(serve({ call: response }), check)));
  test("an exchange that fails and echoes them", async () => {
    for (const status of [400, 401, 500]) {
      await run(
        serve({ exchange: () => Response.json({ error: "invalid_client", error_description: `bad secret ${SECRET}` }, { status }) }),
        check,
      );
    }
    await run(serve({ exchange: () => new Response(`<title>${SECRET}</title>`, { headers: { "content-type": "text/html" } }) }), check);
  });
  test("fields marked debug_redact", async () => {
    const server = serve({
      call: (request) =>
        request.url.endsWith("CreateLoginSession")
          ? protoAnswer(CreateLoginSessionResponseSchema, {
              loginSessionId: "ls_1",
              url: "http://x/cli/ls_1",
              sessionSecret: SESSION_SECRET,
            })
          : protoAnswer(GetLoginSessionResponseSchema, { clientId: "client-9", clientSecret: "c4nary-new-secret" }),
    });
    const said = await run(server, async ({ context }) => {
      const auth = await context.api.auth();
      const session = await auth.createLoginSession({});
      await auth.getLoginSession({ loginSessionId: session.loginSessionId, sessionSecret: session.sessionSecret });
    });
    expect(said).toContain("ls_1");
    expect(said).toContain("client-9");
    expect(said).not.toContain("c4nary-new-secret");
  });
  test("an access token given as a flag or variable", async () => {
    await run(serve({ call: () => errorAnswer(403, "permission_denied", `not with ${TOKEN}`) }), check, { SVC_ACCESS_TOKEN: TOKEN });
  });
  test("signatures of addresses", async () => {
    const server = serve({ call: () => new Response("no", { status: 403 }) });
    const said = await run(server, ({ context }) => context.http.download("/v1/objects/a?x=1&signature=c4narySignature&expires=9"));
    expect(said).toContain("x=1");
    expect(said).toContain("expires=9");
  });
});

describe("the redactor", () => {
  test("knows every message with a debug_redact field, however deep", () => {
    const redactor = createRedactor();
    const message = create(GetLoginSessionResponseSchema, { clientId: "id", clientSecret: "hidden" });
    expect(messageText(redactor, AuthService.method.getLoginSession.output, message)).toBe(
      `{"clientId":"id","clientSecret":"${REDACTED}"}`,
    );
  });
  test("takes no common word for a secret", () => {
    const redactor = createRedactor();
    redactor.add("a");
    redactor.add(undefined);
    redactor.add("");
    expect(redactor.text("a banana")).toBe("a banana");
  });
  test("blots out by key in JSON", () => {
    expect(createRedactor().json({ client_secret: "x", nested: [{ accessToken: "y", id: "z" }] })).toBe(
      `{"client_secret":"${REDACTED}","nested":[{"accessToken":"${REDACTED}","id":"z"}]}`,
    );
  });
});

describe("the runtime's own switches", () => {
  const spawn = async (env: Record<string, string>) => {
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "check-health.ts")], {
      env: { PATH: process.env.PATH ?? "", HOME: tempFolder(), ...env },
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
    return { said: stdout + stderr, code };
  };
  test("BUN_CONFIG_VERBOSE_FETCH and NODE_DEBUG print no headers", async () => {
    const server = serve({ call: () => protoAnswer(health, {}) });
    const { said, code } = await spawn({
      SVC_API_SERVER: server.url,
      SVC_CLIENT_ID: "client",
      SVC_CLIENT_SECRET: SECRET,
      BUN_CONFIG_VERBOSE_FETCH: "curl",
      NODE_DEBUG: "http,http2",
    });
    expect(code).toBe(0);
    expectClean(said);
  });
  test.skipIf(lacksProgram("openssl"))("NODE_TLS_REJECT_UNAUTHORIZED=0 does not turn certificate checks off", async () => {
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const made = Bun.spawnSync([
      "openssl",
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-keyout",
      key,
      "-out",
      cert,
      "-days",
      "2",
      "-subj",
      "/CN=localhost",
      "-addext",
      "subjectAltName=DNS:localhost",
    ]);
    expect(made.exitCode).toBe(0);
    let asked = 0;
    const server = Bun.serve({
      port: 0,
      tls: { key: Bun.file(key), cert: Bun.file(cert) },
      fetch: () => {
        asked++;
        return protoAnswer(health, {});
      },
    });
    const env = { SVC_API_SERVER: `https://localhost:${server.port}`, SVC_ACCESS_TOKEN: TOKEN };
    const refused = await spawn({ ...env, NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    expect([refused.code === 0, asked]).toEqual([false, 0]);
    expect(refused.said).toMatch(/certificate/);
    const trusted = await spawn({ ...env, NODE_EXTRA_CA_CERTS: cert });
    expect([trusted.code, asked]).toEqual([0, 1]);
    await server.stop(true);
  });
});
