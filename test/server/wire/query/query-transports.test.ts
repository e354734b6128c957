/**
 * `QueryService/Query` over HTTP, by each handler: binary messages directly, all others by the
 * general handler.
 */

import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { create, fromBinary, fromJson, type JsonValue, toBinary, toJsonString } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { ErrorCategory, ErrorCode, ErrorDetailSchema } from "../../../../gen/svc/v1/error_pb.ts";
import { QueryRequestSchema, type QueryResponse, QueryResponseSchema, QueryService } from "../../../../gen/svc/v1/query_pb.ts";
import { QueryRunService } from "../../../../gen/svc/v1/query_run_pb.ts";
import { fromProtoValue } from "../../../../src/domain/proto-value.ts";
import { loadServerKeys } from "../../../../src/server/access/keys.ts";
import { type Caller, createTokens } from "../../../../src/server/access/tokens.ts";
import { Failure } from "../../../../src/server/failure.ts";
import type { Platform } from "../../../../src/server/wire/platform.ts";
import { QUERY_PATH, serveQueryDirectly } from "../../../../src/server/wire/services/query-direct.ts";
import { eventually } from "../../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../../deployments/deploying.ts";

const folder = new TempFolder();
let server: TestServer;

/** A file; while it exists, the resolver of greetings does not answer for user 8. */
const HELD = join(folder.path, "held");
afterEach(() => rmSync(HELD, { force: true }));
/** Milliseconds that are enough for resolvers that are not held, even on a busy machine. */
const DEADLINE_MS = "400";

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  const raising = GREETING["resolvers.py"]?.replace(
    'return "hello " + name',
    `if name == "user 7":\n        raise ValueError("no")\n    if name == "user 8":\n        while __import__("os").path.exists(${JSON.stringify(HELD)}):\n            __import__("time").sleep(0.005)\n    return "hello " + name`,
  );
  expectLive(await deploy(server, { ...GREETING, "resolvers.py": raising ?? "" }));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const TRANSPORTS = {
  direct: { binary: true },
  "direct, by a deadline": { binary: true, timeoutMs: 60_000 },
  "general, JSON": { binary: false },
  "general, gRPC-web": { binary: true, grpc: "web" },
  gRPC: { binary: true, grpc: "http2" },
  "gRPC, JSON": { binary: false, grpc: "http2" },
} as const;

type TransportKind = { readonly binary: boolean; readonly timeoutMs?: number; readonly grpc?: "web" | "http2" };

function client(kind: TransportKind, token: string | null, headers: Record<string, string> = {}): Client<typeof QueryService> {
  const make = { web: createGrpcWebTransport, http2: createGrpcTransport, connect: createConnectTransport }[kind.grpc ?? "connect"];
  const transport = make({
    baseUrl: kind.grpc === "http2" ? server.server.grpcUrl : server.url,
    useBinaryFormat: kind.binary,
    ...(kind.timeoutMs === undefined ? {} : { defaultTimeoutMs: kind.timeoutMs }),
    interceptors: [
      (next) => (request) => {
        if (token !== null) request.header.set("authorization", `Bearer ${token}`);
        for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
        return next(request);
      },
    ],
  });
  return createClient(QueryService, transport);
}

const ask = (id: number, outputs = ["user.name", "user.greeting"]) => ({
  inputs: [{ feature: "user.id", value: { case: "text" as const, value: String(id) } }],
  outputs,
});

async function failure(call: Promise<unknown>): Promise<{ code: Code; message: string; details: unknown }> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ConnectError)) throw new Error(`expected a ConnectError, got ${String(error)}`);
  const details = error
    .findDetails(ErrorDetailSchema)
    .map(({ code, category, message, feature, hint }) => ({ code, category, message, feature, hint }));
  return { code: error.code, message: error.rawMessage.replace(/dpl_\w+/, "dpl"), details };
}

describe.each(Object.entries(TRANSPORTS))("%s", (_, transport: TransportKind) => {
  test("answers, with errors beside the data and the page of the run", async () => {
    const found = client(transport, await server.token());
    const response = await found.query(ask(5));
    expect(response.data.map(({ field, value }) => [field, value && fromProtoValue(value)])).toEqual([
      ["user.name", "user 5"],
      ["user.greeting", "hello user 5"],
    ]);
    expect(response.meta?.url).toBe(`${server.url}/environments/${response.meta?.environmentId}/query-runs/${response.meta?.queryId}`);
    const failing = await found.query({ ...ask(7), includeMeta: true });
    expect(failing.data.map(({ error, meta }) => [error?.code, meta?.chosenResolverFqn])).toEqual([
      [undefined, "resolvers.get_name"],
      [ErrorCode.RESOLVER_FAILED, ""],
    ]);
    expect(failing.errors[0]?.exception).toMatchObject({ kind: "ValueError", message: "no" });
  });

  test("several queries at once each have their own end", async () => {
    const found = client(transport, await server.token());
    const { outcomes } = await found.queryMulti({ queries: [ask(5), ask(1, ["user.nmae"]), ask(7)] });
    expect(outcomes.map(({ outcome }) => outcome.case)).toEqual(["response", "failure", "response"]);
    const [first, second, third] = outcomes.map(({ outcome }) => outcome.value);
    expect(first).toMatchObject({ data: [{ field: "user.name" }, { field: "user.greeting", value: { kind: { value: "hello user 5" } } }] });
    expect(second).toMatchObject({ code: "invalid_argument", errors: [{ feature: "user.nmae" }] });
    expect(third).toMatchObject({ errors: [{ code: ErrorCode.RESOLVER_FAILED }] });
    expect((await failure(found.queryMulti({}))).code).toBe(Code.InvalidArgument);
    expect((await failure(client(transport, null).queryMulti({ queries: [ask(5)] }))).code).toBe(Code.Unauthenticated);
  });

  test("a run is told as soon as it was answered", async () => {
    const found = client(transport, await server.token());
    for (let round = 0; round < 3; round++) {
      const { meta } = await found.query({ ...ask(100 + round), correlationId: `round ${round}` });
      const run = await server.client(QueryRunService).getQueryRun({ id: meta?.queryId ?? "" });
      expect([run.url, run.query?.correlationId]).toEqual([meta?.url ?? "", `round ${round}`]);
      const told = run.response && toJsonString(QueryResponseSchema, run.response);
      expect(told).toContain(`hello user ${100 + round}`);
      expect(told).toContain("resolvers.greet");
    }
  });

  test("refuses a wrong query with everything that is wrong, and logs it", async () => {
    const refused = await failure(
      client(transport, await server.token()).query({ ...ask(1, ["user.nmae"]), queryName: `wrong ${JSON.stringify(transport)}` }),
    );
    expect(refused).toEqual({
      code: Code.InvalidArgument,
      message: expect.stringContaining("user.nmae"),
      details: [
        {
          code: ErrorCode.PARSE_FAILED,
          category: ErrorCategory.REQUEST,
          message: expect.stringContaining("did you mean 'user.name'"),
          feature: "user.nmae",
          hint: "",
        },
      ],
    });
    const logged = new Database(join(folder.path, "data", "telemetry.db"), { readonly: true });
    const names = () => logged.query<{ query_name: string }, []>("select query_name from query_log").all();
    await eventually(() => names().some((row) => row.query_name === `wrong ${JSON.stringify(transport)}`), "the query is logged");
    logged.close();
  });

  test("asks for a token that may query", async () => {
    const tokens = createTokens({ keys: loadServerKeys(join(folder.path, "data", "server.key")).tokens, clock: server.clock });
    const { clientId } = server.credentials;
    const reader = await tokens.issue({ clientId, teamId: "t", permissions: ["read"] });
    const spent = await tokens.issue({ clientId, teamId: "t", permissions: ["query.online"] });
    const detail = (code: ErrorCode, message: string, hint: string) => [
      { code, category: ErrorCategory.NETWORK, message, feature: "", hint },
    ];
    expect(await failure(client(transport, null).query(ask(1)))).toEqual({
      code: Code.Unauthenticated,
      message: "The request has no access token.",
      details: detail(ErrorCode.UNAUTHENTICATED, "The request has no access token.", "Run `svc login`."),
    });
    expect(await failure(client(transport, reader).query(ask(1)))).toMatchObject({
      code: Code.PermissionDenied,
      details: detail(
        ErrorCode.UNAUTHORIZED,
        "The credentials lack the permission 'query.online'.",
        "Use credentials that have it, or ask for it to be added.",
      ),
    });
    expect((await failure(client(transport, spent).query(ask(1)))).code).toBe(Code.NotFound);
    server.clock.advance(3_601_000);
    const late = await failure(client(transport, spent).query(ask(1)));
    server.clock.advance(-3_601_000);
    expect([late.code, late.message]).toEqual([Code.Unauthenticated, "The access token has expired."]);
  });

  test("keeps to its scope", async () => {
    const token = await server.token();
    expect(await failure(client(transport, token, { "svc-branch": "none" }).query(ask(1)))).toMatchObject({
      code: Code.NotFound,
      message: "Nothing is live on branch 'none' of environment 'default'.",
      details: [{ hint: "Deploy to it with `svc apply --branch none`." }],
    });
    expect(await failure(client(transport, token).query({ ...ask(1), deploymentId: "dpl_0" }))).toMatchObject({ code: Code.NotFound });
    expect((await client(transport, token, { "svc-environment": "default" }).query(ask(1))).data).toHaveLength(2);
  });
});

/** Sends bytes as a call with binary messages, and returns the answer. */
async function send(body: Uint8Array, headers: Record<string, string>): Promise<{ status: number; type: string | null; body: unknown }> {
  const response = await fetch(`${server.url}${QUERY_PATH}`, {
    method: "POST",
    body: body as Uint8Array<ArrayBuffer>,
    headers: { "content-type": "application/proto", authorization: `Bearer ${await server.token()}`, ...headers },
  });
  const type = response.headers.get("content-type");
  return {
    status: response.status,
    type,
    body: type === "application/proto" ? fromBinary(QueryResponseSchema, await response.bytes()) : await response.json(),
  };
}

test.each([
  ["direct", {}],
  ["general", { "content-type": "application/PROTO" }],
])("%s: bytes that are no message are refused as the caller's fault", async (_, headers: Record<string, string>) => {
  expect(await send(toBinary(QueryRequestSchema, create(QueryRequestSchema, ask(3))), headers)).toMatchObject({
    status: 200,
    type: "application/proto",
    body: { data: [{ field: "user.name" }, { field: "user.greeting" }] },
  });
  for (const bytes of [[0xff], [0x0a, 0x05, 0x01]])
    expect(await send(new Uint8Array(bytes), headers)).toEqual({
      status: 400,
      type: "application/json",
      body: { code: "invalid_argument", message: expect.stringMatching(/^the message cannot be read: .+ \(byte \d+\)$/) },
    });
  const long = new Uint8Array(33 * 1024 * 1024);
  expect(await send(long, headers)).toMatchObject({ status: 413, body: { error: "body_too_large" } });
});

test.each([
  ["direct", "application/proto"],
  ["general", "application/PROTO"],
  ["general", "application/json"],
])("%s, %s: a call ends when the caller's time is up", async (_, type) => {
  const message = create(QueryRequestSchema, ask(8));
  const bytes = type.endsWith("json")
    ? new TextEncoder().encode(toJsonString(QueryRequestSchema, message))
    : toBinary(QueryRequestSchema, message);
  writeFileSync(HELD, "");
  const { status, body } = await send(bytes, { "content-type": type, "connect-timeout-ms": DEADLINE_MS });
  const answer = type.endsWith("json") ? fromJson(QueryResponseSchema, body as JsonValue) : (body as QueryResponse);
  expect([status, answer.data.map(({ error }) => error?.code)]).toEqual([200, [undefined, ErrorCode.DEADLINE_EXCEEDED]]);
  expect(await send(bytes, { "content-type": type, "connect-timeout-ms": "soon" })).toMatchObject({
    status: 400,
    body: { code: "invalid_argument" },
  });
});

test("gRPC-web: what was there when the caller's time was up is answered", async () => {
  writeFileSync(HELD, "");
  const message = toBinary(QueryRequestSchema, create(QueryRequestSchema, ask(8)));
  const length = new Uint8Array(new Uint32Array([message.length]).buffer).reverse();
  const response = await fetch(`${server.url}${QUERY_PATH}`, {
    method: "POST",
    body: Buffer.concat([new Uint8Array(1), length, message]),
    headers: {
      "content-type": "application/grpc-web+proto",
      "grpc-timeout": `${DEADLINE_MS}m`,
      authorization: `Bearer ${await server.token()}`,
    },
  });
  const body = await response.bytes();
  const answer = fromBinary(QueryResponseSchema, body.subarray(5, 5 + new DataView(body.buffer, body.byteOffset).getUint32(1)));
  expect(answer.data.map(({ error }) => error?.code)).toEqual([undefined, ErrorCode.DEADLINE_EXCEEDED]);
});

describe("JSON API", () => {
  const post = async (path: string, body: object, headers: Record<string, string>) => {
    const response = await fetch(`${server.url}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", authorization: `Bearer ${await server.token()}`, ...headers },
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const late = { code: "DEADLINE_EXCEEDED", message: "the caller's deadline passed before the value was there" };

  test("what was there when the caller's time was up is answered", async () => {
    const asked = { inputs: { "user.id": 8 }, outputs: ["user.name", "user.greeting"] };
    writeFileSync(HELD, "");
    expect(await post("/v1/query/online", asked, { "connect-timeout-ms": DEADLINE_MS })).toMatchObject({
      status: 200,
      body: { data: [{ value: "user 8" }, { value: null, error: late }], errors: [late] },
    });
    rmSync(HELD);
    expect(await post("/v1/query/online", asked, { "connect-timeout-ms": "60000" })).toMatchObject({
      body: { data: [{ value: "user 8" }, { value: "hello user 8" }] },
    });
  });

  test("a bulk query fails as a whole, over Connect too", async () => {
    const asked = { inputs: { "user.id": [8, 9] }, outputs: ["user.greeting"], staleness: { "user.greeting": "0s" } };
    const message = "The caller's deadline passed before the answer was there.";
    writeFileSync(HELD, "");
    expect(await post("/v1/query/bulk", asked, { "connect-timeout-ms": DEADLINE_MS })).toEqual({
      status: 504,
      body: {
        data: {},
        code: "deadline_exceeded",
        error: "deadline_exceeded",
        message,
        errors: [{ code: "DEADLINE_EXCEEDED", category: "NETWORK", message }],
      },
    });
    const inputs = [{ feature: "user.id", values: [{ text: "8" }, { text: "9" }] }];
    const query = { outputs: ["user.greeting"], staleness: { "user.greeting": "0s" } };
    expect(await post("/svc.v1.QueryService/QueryBulk", { query, inputs }, { "connect-timeout-ms": DEADLINE_MS })).toMatchObject({
      status: 504,
      body: { code: "deadline_exceeded" },
    });
  });

  test("a time that is no number is refused", async () => {
    expect(await post("/v1/query/online", {}, { "connect-timeout-ms": "soon" })).toMatchObject({
      status: 400,
      body: { code: "invalid_argument" },
    });
  });
});

test.each([
  ["direct", "Content-Type: application/proto\r\n"],
  ["general", "Content-Type: application/PROTO\r\n"],
])("%s: another host's name and another origin are refused", async (_, header) => {
  const { port, hostname } = new URL(server.url);
  const status = (lines: string) =>
    new Promise<number>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write(`POST ${QUERY_PATH} HTTP/1.1\r\n${lines}${header}Content-Length: 0\r\n\r\n`),
      );
      socket.on("data", (chunk) => {
        socket.destroy();
        resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(chunk.toString("latin1"))?.[1]));
      });
      socket.on("error", reject);
    });
  expect(await status(`Host: ${hostname}:${port}\r\n`)).toBe(401);
  expect(await status("Host: evil.example.com\r\n")).toBe(403);
  expect(await status(`Host: ${hostname}:${port}\r\nOrigin: http://evil.example.com\r\n`)).toBe(403);
});

test("what is not a plain call, or comes from nobody, is left to the general handler", async () => {
  const part = () => Promise.reject(new Failure("unavailable", "direct"));
  const handle = serveQueryDirectly({ queries: part } as unknown as Platform, async () => new Response("general"));
  const caller: Caller = { clientId: "client_x", teamId: "team_x", permissions: [] };
  const by = async (method: string, headers: Record<string, string>) => {
    const response = await handle(new Request(`${server.url}${QUERY_PATH}`, { method, headers }), new Uint8Array(0), caller);
    return response.status === 503 ? "direct" : response.text();
  };
  const plain = { "content-type": "application/proto" };
  expect(await by("POST", plain)).toBe("direct");
  expect(await by("POST", { ...plain, "connect-protocol-version": "1", "content-encoding": "identity" })).toBe("direct");
  expect(await by("POST", { ...plain, "connect-timeout-ms": "100" })).toBe("direct");
  expect(await by("POST", { "content-type": "application/json" })).toBe("general");
  expect(await by("POST", { "content-type": "application/grpc-web+proto" })).toBe("general");
  expect(await by("GET", plain)).toBe("general");
  expect(
    await handle(new Request(`${server.url}${QUERY_PATH}`, { method: "POST", headers: plain }), new Uint8Array(0), undefined).then((r) =>
      r.text(),
    ),
  ).toBe("general");
});
