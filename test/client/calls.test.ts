import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { AuthService } from "../../gen/svc/v1/auth_pb.ts";
import { DeploymentService, DeploymentStatus } from "../../gen/svc/v1/deployment_pb.ts";
import { ErrorCategory, ErrorCode, ErrorDetailSchema } from "../../gen/svc/v1/error_pb.ts";
import { HealthService } from "../../gen/svc/v1/health_pb.ts";
import { QueryService } from "../../gen/svc/v1/query_pb.ts";
import { updateEntry } from "../../src/config/file.ts";
import type { CliError } from "../../src/errors/cli-error.ts";
import { startCountingProxy } from "../harness/counting-proxy.ts";
import { lacksProgram } from "../harness/needs.ts";
import { errorAnswer, type FakeServer, fakeServer, protoAnswer, tokenAnswer } from "./fake-server.ts";
import { tempFolder, testContext } from "./test-context.ts";

const health = HealthService.method.checkHealth.output;
const answer = QueryService.method.query.output;
const watch = DeploymentService.method.watchDeployment.output;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
afterAll(() => undefined);

function serve(...args: Parameters<typeof fakeServer>): FakeServer {
  const server = fakeServer(...args);
  closing.push(() => server.stop());
  return server;
}

/** A server that writes bytes as they are, and closes or not. */
async function rawServer(reply: string, end = true): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      if (reply === "RESET") socket.resetAndDestroy();
      else socket.write(reply, () => end && socket.end());
    });
  });
  closing.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
}

const token = { SVC_ACCESS_TOKEN: "given-token" };
const noSleep = { now: Date.now, sleep: async () => undefined };
async function check(url: string, options: Parameters<typeof testContext>[0] = {}, call: { timeoutMs?: number } = {}) {
  const made = await testContext({ clock: noSleep, ...options, env: { ...token, SVC_API_SERVER: url, ...options.env } });
  return (await made.context.api.health()).checkHealth({}, call);
}
async function failure(promise: Promise<unknown>): Promise<CliError> {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!(error instanceof Error)) throw new Error("expected a failure");
  expect(error.message).not.toContain("\n");
  return error as CliError;
}

describe("a server that cannot be reached", () => {
  test("refused: what was tried, where it came from, and how to start a server", async () => {
    const error = await failure(check("http://127.0.0.1:1"));
    expect(error.message).toContain("http://127.0.0.1:1");
    expect(error.message).toContain("environment variable SVC_API_SERVER");
    expect(error.message).toContain("connection refused");
    expect(error.hint).toContain("svc server start");
    expect(error.exitCode).toBe(1);
  });
  test("each source is named", async () => {
    const byFlag = await testContext({ env: token, flags: { apiHost: "http://127.0.0.1:1" } });
    expect((await failure((await byFlag.context.api.health()).checkHealth({}))).message).toContain("flag --api-host");
    const home = tempFolder();
    await updateEntry({}, { env: {}, homeDir: home }, "default", { clientId: "a", clientSecret: "bbbb", apiServer: "http://127.0.0.1:1" });
    const byFile = await testContext({ home });
    expect((await failure((await byFile.context.api.health()).checkHealth({}))).message).toContain(join(home, ".config/svc.yml"));
  });
  test("a name that does not resolve", async () => {
    const error = await failure(check("https://nothing.invalid"));
    expect(error.message).toContain("https://nothing.invalid");
    expect(error.message).toContain("cannot be resolved");
    expect(error.hint).toContain("--api-host");
  });
  test("a plain server behind https://", async () => {
    const server = serve();
    expect((await failure(check(server.url.replace("http:", "https:")))).message).toContain("does not speak TLS");
  });
  test("`ping` says the same", async () => {
    const { context } = await testContext({ env: { SVC_API_SERVER: "http://127.0.0.1:1" } });
    expect((await failure(context.http.ping())).hint).toContain("svc server start");
  });
});

describe("answers that svc does not give", () => {
  const pages: [name: string, response: () => Response, said: RegExp][] = [
    [
      "a web page",
      () => new Response("<html><title>Sign in</title></html>", { headers: { "content-type": "text/html" } }),
      /web page \("Sign in"\)/,
    ],
    ["a web page as an error", () => new Response("<html>x</html>", { status: 502, headers: { "content-type": "text/html" } }), /web page/],
    ["JSON instead of protobuf", () => Response.json({ ok: true }), /application\/json/],
    ["nothing with status 200", () => new Response(""), /empty body/],
    ["404 of another program", () => new Response("not here", { status: 404 }), /does not know this call/],
    [
      "a redirect",
      () => new Response(null, { status: 302, headers: { location: "https://login.example.com/" } }),
      /redirect to https:\/\/login\.example\.com/,
    ],
    [
      "protobuf that is cut",
      () => new Response(new Uint8Array([10, 50, 1]), { headers: { "content-type": "application/proto" } }),
      /cut or broken/,
    ],
    [
      "JSON that is cut",
      () => new Response('{"code": "inter', { status: 500, headers: { "content-type": "application/json" } }),
      /HTTP status 500/,
    ],
  ];
  for (const [name, response, said] of pages) {
    test(name, async () => {
      const server = serve({ call: response });
      const error = await failure(check(server.url));
      expect(error.message).toMatch(said);
      expect(error.message).toContain(server.url);
    });
  }
  const raw: [name: string, reply: string, said: RegExp][] = [
    ["another protocol", "SSH-2.0-OpenSSH_9.0\r\n", /does not speak HTTP/],
    ["a reset", "RESET", /closed before the answer was complete/],
    ["no answer at all", "", /closed before the answer was complete/],
    [
      "a body that ends early",
      "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 100\r\n\r\nabc",
      /closed before the answer was complete/,
    ],
    [
      "a chunk that ends early",
      "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab",
      /closed before the answer/,
    ],
    ["broken gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", /cut or broken/],
  ];
  for (const [name, reply, said] of raw) {
    test(name, async () => {
      expect((await failure(check(await rawServer(reply)))).message).toMatch(said);
    });
  }
  test("an answer whose end does not show is not taken for a whole one", async () => {
    const head = "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\n";
    for (const headers of [`${head}\r\n`, `${head}Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n`]) {
      expect(await failure(check(await rawServer(headers)))).toMatchObject({ code: "connection_lost" });
    }
    for (const headers of [`${head}Content-Length: 0\r\n\r\n`, `${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`]) {
      expect((await check(await rawServer(headers))).checks).toEqual([]);
    }
  });
  const hanging: [name: string, reply: string][] = [
    ["silence", ""],
    ["headers and then silence", "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 100\r\n\r\n"],
    ["half a body and then silence", "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 100\r\n\r\nabc"],
  ];
  for (const [name, reply] of hanging) {
    test(`${name}: the call ends at its deadline`, async () => {
      const url = await rawServer(reply, false);
      const error = await failure(check(url, {}, { timeoutMs: 120 }));
      expect(error.message).toContain("no answer within 0.12 s");
    });
  }
  test("an exchange answered by a web page", async () => {
    const server = serve({ exchange: () => new Response("<html><title>Proxy</title>", { headers: { "content-type": "text/html" } }) });
    const { context } = await testContext({ env: { SVC_API_SERVER: server.url, SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "bbbb" } });
    expect((await failure(context.http.session())).message).toContain('web page ("Proxy")');
  });
  test("a token that no header can hold, from the exchange, as a flag, or from a cache", async () => {
    for (const bad of ["abc\r\nx-evil: 1", "a b", "", "t\u00f6ken", "a\u0000"]) {
      const server = serve({ exchange: () => Response.json({ access_token: bad, token_type: "Bearer", expires_in: 60 }) });
      const { context } = await testContext({ env: { SVC_API_SERVER: server.url, SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "bbbb" } });
      expect(await failure(context.http.session())).toMatchObject({ code: "broken_answer", exitCode: 1 });
      if (bad === "") continue;
      const given = await failure(check(server.url, { env: { SVC_ACCESS_TOKEN: bad } }));
      expect(given.message).toContain("environment variable SVC_ACCESS_TOKEN");
      expect(given.message).not.toContain(bad);
      expect(given.code).toBe("unauthenticated");
      expect(server.requests.length).toBe(1);
    }
  });
  test("an exchange without a token", async () => {
    const server = serve({ exchange: () => Response.json({ hello: 1 }) });
    const { context } = await testContext({ env: { SVC_API_SERVER: server.url, SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "bbbb" } });
    expect((await failure(context.http.session())).code).toBe("broken_answer");
  });
});

describe("what is sent again", () => {
  test("a read-only call: once more when the server refuses and does not say for how long", async () => {
    for (const status of [503, 429, 502, 504]) {
      const server = serve({ call: (_, attempt) => (attempt === 1 ? new Response("busy", { status }) : protoAnswer(health, {})) });
      await check(server.url);
      expect(server.requests.length).toBe(2);
      const busy = serve({ call: () => new Response("busy", { status }) });
      expect((await failure(check(busy.url))).code).toBe("unavailable");
      expect(busy.requests.length).toBe(2);
    }
  });
  test("with one reset in a hundred, all calls come through at little cost", async () => {
    let connections = 0;
    const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    const server = createServer((socket) => {
      connections++;
      socket.on("error", () => undefined);
      if (connections % 100 === 50) socket.resetAndDestroy();
      else socket.once("data", () => socket.end(answer));
    });
    closing.push(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const { context } = await testContext({ clock: noSleep, env: { ...token, SVC_API_SERVER: `http://127.0.0.1:${port}` } });
    const service = await context.api.health();
    const calls = 1_000;
    for (let call = 0; call < calls; call++) await service.checkHealth({});
    expect(connections).toBeGreaterThan(calls);
    expect(connections).toBeLessThanOrEqual(1.2 * calls);
  });
  test("Retry-After is waited for", async () => {
    const slept: number[] = [];
    const clock = { now: Date.now, sleep: async (ms: number) => void slept.push(ms) };
    const server = serve({
      call: (_, attempt) => (attempt === 1 ? errorAnswer(503, "unavailable", "busy", { "retry-after": "2" }) : protoAnswer(health, {})),
    });
    await check(server.url, { clock });
    expect(slept).toEqual([2000]);
  });
  test("a query is not, because fresh values are stored", async () => {
    const server = serve({ call: () => errorAnswer(503, "unavailable", "busy") });
    const { context } = await testContext({ clock: noSleep, env: { ...token, SVC_API_SERVER: server.url } });
    expect((await failure((await context.api.query()).query({}))).message).toContain("busy");
    expect(server.requests.length).toBe(1);
  });
  test("a refusal is not", async () => {
    const server = serve({ call: () => errorAnswer(400, "invalid_argument", "wrong") });
    await failure(check(server.url));
    expect(server.requests.length).toBe(1);
  });
  test("an upload and a download are", async () => {
    const server = serve({
      call: (request, attempt) =>
        attempt === 1 ? new Response("busy", { status: 503 }) : new Response(request.method === "GET" ? "content" : null),
    });
    const { context } = await testContext({ clock: noSleep, env: { SVC_API_SERVER: server.url } });
    await context.http.upload("/v1/objects/up?signature=s", new TextEncoder().encode("bytes"));
    expect(new TextDecoder().decode(await context.http.download("/v1/objects/down?signature=s"))).toBe("content");
    const uploads = server.requests.filter(({ method }) => method === "PUT");
    expect(uploads.map(({ body }) => new TextDecoder().decode(body))).toEqual(["bytes", "bytes"]);
    expect(server.requests.every(({ headers }) => !headers.has("authorization"))).toBe(true);
  });
});

describe("headers", () => {
  test("the scope, the token and the protocol", async () => {
    const server = serve({ call: () => protoAnswer(health, {}) });
    await check(server.url, { flags: { environment: "staging é", branch: "my/branch" } });
    const { headers, method, path } = server.requests[0] ?? { headers: new Headers(), method: "", path: "" };
    expect([method, path]).toEqual(["POST", "/svc.v1.HealthService/CheckHealth"]);
    expect(Object.fromEntries(headers)).toMatchObject({
      authorization: "Bearer given-token",
      "content-type": "application/proto",
      "connect-protocol-version": "1",
      "svc-environment": "staging%20%C3%A9",
      "svc-branch": "my/branch",
    });
  });
  test("no environment and no branch: no headers", async () => {
    const server = serve({ call: () => protoAnswer(health, {}) });
    await check(server.url);
    expect(server.requests[0]?.headers.has("svc-environment")).toBe(false);
    expect(server.requests[0]?.headers.has("svc-branch")).toBe(false);
  });
  test("a public method carries no token and needs no credentials", async () => {
    const server = serve({ call: () => protoAnswer(AuthService.method.createLoginSession.output, { loginSessionId: "s" }) });
    const { context } = await testContext({ env: { SVC_API_SERVER: server.url } });
    await (await context.api.auth()).createLoginSession({ deviceName: "x" });
    expect(server.requests[0]?.headers.has("authorization")).toBe(false);
  });
  test.skipIf(lacksProgram("git"))("a bare --branch is the git branch, and an error outside a work tree", async () => {
    const server = serve({ call: () => protoAnswer(health, {}) });
    const dir = tempFolder();
    const git = (...args: string[]) => Bun.spawnSync(["git", "-C", dir, ...args]);
    const outside = await failure(check(server.url, { flags: { branch: true, dir } }));
    expect(outside.exitCode).toBe(1);
    expect(outside.message).toContain("git");
    git("init", "-q", "-b", "work/now");
    await check(server.url, { flags: { branch: true, dir } });
    expect(server.requests.map(({ headers }) => headers.get("svc-branch"))).toEqual(["work/now"]);
  });
  test("queries go to the environment's query server, everything else does not", async () => {
    const engine = serve({ call: () => protoAnswer(answer, {}) });
    const server = serve({ call: () => protoAnswer(health, {}), exchange: () => tokenAnswer("t", 3600, { env_1: engine.url }) });
    const { context } = await testContext({ env: { SVC_API_SERVER: server.url, SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "bbbb" } });
    await (await context.api.query()).query({});
    await (await context.api.health()).checkHealth({});
    expect(engine.requests.map(({ path }) => path)).toEqual(["/svc.v1.QueryService/Query"]);
    expect(server.requests.map(({ path }) => path)).toEqual(["/v1/oauth/token", "/svc.v1.HealthService/CheckHealth"]);
  });
});

describe("refusals of the server", () => {
  test("an ErrorDetail gives message, code, hint and details", async () => {
    const detail = toBinary(
      ErrorDetailSchema,
      create(ErrorDetailSchema, {
        code: ErrorCode.PARSE_FAILED,
        category: ErrorCategory.REQUEST,
        message: "there is no feature 'user.nmae'; did you mean 'user.name'?",
        feature: "user.nmae",
        hint: "`svc features list` shows all.",
      }),
    );
    const details = [{ type: "svc.v1.ErrorDetail", value: Buffer.from(detail).toString("base64").replace(/=+$/, "") }];
    const server = serve({ call: () => errorAnswer(400, "invalid_argument", "x", {}, details) });
    expect(await failure(check(server.url))).toMatchObject({
      message: "there is no feature 'user.nmae'; did you mean 'user.name'?",
      code: "parse_failed",
      hint: "`svc features list` shows all.",
      details: { feature: "user.nmae" },
      exitCode: 1,
    });
  });
  test("without one the message stands as it is", async () => {
    const server = serve({ call: () => errorAnswer(400, "failed_precondition", "nothing is deployed yet") });
    expect(await failure(check(server.url))).toMatchObject({ message: "nothing is deployed yet", code: "failed_precondition" });
  });
});

describe("redirects of downloads", () => {
  const download = async (url: string, env: Record<string, string> = {}) =>
    (await testContext({ env: { ...token, SVC_API_SERVER: url, ...env } })).context.http.download("/v1/objects/1");
  const moved = (location: string) => new Response(null, { status: 302, headers: { location } });

  test("each address is reached the way that is right for it", async () => {
    const server = serve({
      call: (request) => {
        const { pathname } = new URL(request.url);
        if (pathname === "/v1/objects/1") return moved("http://svc.example.test/2");
        return pathname === "/2" ? moved(`${server.url}/3`) : new Response("the bytes");
      },
    });
    const proxy = await startCountingProxy({ "svc.example.test:80": Number(new URL(server.url).port) });
    expect(new TextDecoder().decode(await download(server.url, { http_proxy: proxy.url }))).toBe("the bytes");
    expect(server.requests.map(({ path }) => path)).toEqual(["/v1/objects/1", "/2", "/3"]);
    expect(proxy.requests).toEqual(["GET http://svc.example.test/2 HTTP/1.1"]);
    await proxy.stop();
  });
  test("in circles, or to what is no web address, are refused", async () => {
    const server = serve({ call: () => moved("/v1/objects/1") });
    expect(await failure(download(server.url))).toMatchObject({ code: "redirected" });
    expect(server.requests.length).toBe(6);
    expect(await failure(download(serve({ call: () => moved("file:///etc/passwd") }).url))).toMatchObject({ code: "redirected" });
  });
});

describe("streams", () => {
  const frame = (flags: number, body: Uint8Array | string) => {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const head = new Uint8Array(5);
    head[0] = flags;
    new DataView(head.buffer).setUint32(1, bytes.length);
    return Buffer.concat([head, bytes]);
  };
  const state = (status: DeploymentStatus) => frame(0, toBinary(watch, create(watch, { deployment: { id: "dpl_1", status } })));
  const stream = (...frames: Uint8Array[]) =>
    new Response(Buffer.concat(frames) as unknown as BodyInit, { headers: { "content-type": "application/connect+proto" } });
  const follow = async (url: string, env: Record<string, string> = token) => {
    const { context } = await testContext({ env: { ...env, SVC_API_SERVER: url }, flags: { branch: "b" } });
    const seen: (DeploymentStatus | undefined)[] = [];
    for await (const item of (await context.api.deployments()).watchDeployment({ deploymentId: "dpl_1" }))
      seen.push(item.deployment?.status);
    return seen;
  };

  test("items come in order, with the same headers as other calls", async () => {
    const server = serve({ call: () => stream(state(DeploymentStatus.QUEUED), state(DeploymentStatus.LIVE), frame(2, "{}")) });
    expect(await follow(server.url)).toEqual([DeploymentStatus.QUEUED, DeploymentStatus.LIVE]);
    const { headers } = server.requests[0] ?? { headers: new Headers() };
    expect([headers.get("authorization"), headers.get("svc-branch")]).toEqual(["Bearer given-token", "b"]);
  });
  test("a stream that is given up before it is opened asks for nothing that it would wait for", async () => {
    const server = serve({ call: () => new Response(new ReadableStream(), { headers: { "content-type": "application/connect+proto" } }) });
    const { context } = await testContext({ env: { ...token, SVC_API_SERVER: server.url } });
    const watching = (await context.api.deployments()).watchDeployment({ deploymentId: "dpl_1" }, { signal: AbortSignal.abort() });
    expect(await failure(Array.fromAsync(watching))).toBeDefined();
  });
  test("a stream goes through the proxy that other calls go through, and past it on this machine", async () => {
    const server = serve({ call: () => stream(state(DeploymentStatus.LIVE), frame(2, "{}")) });
    const proxy = await startCountingProxy({ "svc.example.test:80": Number(new URL(server.url).port) });
    const env = { ...token, http_proxy: proxy.url };
    expect(await follow(server.url, env)).toEqual([DeploymentStatus.LIVE]);
    expect(proxy.requests).toEqual([]);
    expect(await follow("http://svc.example.test", env)).toEqual([DeploymentStatus.LIVE]);
    expect(proxy.requests).toEqual(["POST http://svc.example.test/svc.v1.DeploymentService/WatchDeployment HTTP/1.1"]);
    await proxy.stop();
  });
  test("an error at the end is the server's", async () => {
    const server = serve({
      call: () => stream(frame(2, JSON.stringify({ error: { code: "not_found", message: "no deployment dpl_1" } }))),
    });
    expect(await failure(follow(server.url))).toMatchObject({ message: "no deployment dpl_1", code: "not_found" });
  });
  test("a stream that is cut says that the connection broke", async () => {
    const server = serve({ call: () => stream(state(DeploymentStatus.QUEUED)) });
    expect(await failure(follow(server.url))).toMatchObject({ code: "connection_lost" });
    const half = serve({ call: () => stream(state(DeploymentStatus.QUEUED).subarray(0, 7)) });
    expect(await failure(follow(half.url))).toMatchObject({ code: "connection_lost" });
  });
  test("a message that is announced as too long ends the stream before it comes", async () => {
    const announced = new Uint8Array([0, 0xff, 0xff, 0xff, 0xff]);
    const server = serve({ call: () => stream(state(DeploymentStatus.QUEUED), announced) });
    expect(await failure(follow(server.url))).toMatchObject({ code: "answer_too_large" });
  });
  test("messages come through whole, however the bytes are cut", async () => {
    const bytes = Buffer.concat([state(DeploymentStatus.QUEUED), state(DeploymentStatus.LIVE), frame(2, "{}")]);
    const head = "HTTP/1.1 200 OK\r\nContent-Type: application/connect+proto\r\nConnection: close\r\n\r\n";
    const server = createServer((socket) => {
      socket.setNoDelay(true).on("error", () => undefined);
      socket.once("data", async () => {
        socket.write(head);
        for (const byte of bytes) {
          await Bun.sleep(1);
          socket.write(new Uint8Array([byte]));
        }
        socket.end();
      });
    });
    closing.push(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    expect(await follow(`http://127.0.0.1:${port}`)).toEqual([DeploymentStatus.QUEUED, DeploymentStatus.LIVE]);
  });
  test("a refused token is exchanged once more", async () => {
    const server = serve({
      call: (request) =>
        request.headers.get("authorization") === "Bearer token-2"
          ? stream(state(DeploymentStatus.LIVE), frame(2, "{}"))
          : errorAnswer(401, "unauthenticated", "old"),
    });
    expect(await follow(server.url, { SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "bbbb" })).toEqual([DeploymentStatus.LIVE]);
    expect(server.exchanges()).toBe(2);
  });
  test("a server that is not there", async () => {
    expect(await failure(follow("http://127.0.0.1:1"))).toMatchObject({
      code: "unreachable",
      hint: expect.stringContaining("svc server start"),
    });
  });
  test("a web page", async () => {
    const server = serve({ call: () => new Response("<html>", { headers: { "content-type": "text/html" } }) });
    expect((await failure(follow(server.url))).message).toContain(server.url);
  });
});
