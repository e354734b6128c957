/** Calls of gRPC by its own clients, and by frames that no client would send. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../../gen/grpc/health/v1/health_pb.ts";
import { AuditService } from "../../../../gen/svc/v1/audit_pb.ts";
import { AuthService, WhoAmIResponseSchema } from "../../../../gen/svc/v1/auth_pb.ts";
import { QueryResponseSchema, QueryService } from "../../../../gen/svc/v1/query_pb.ts";
import { SecretService } from "../../../../gen/svc/v1/secret_pb.ts";
import { WatchService, WatchTopic } from "../../../../gen/svc/v1/watch_pb.ts";
import { fromProtoValue } from "../../../../src/domain/proto-value.ts";
import { Flag, frame, Kind } from "../../../../src/server/http2/frames.ts";
import { type Field, HeaderDecoder, headerBlock } from "../../../../src/server/http2/hpack.ts";
import { Authority } from "../../../harness/authority.ts";
import { eventually } from "../../../harness/eventually.ts";
import { goProgram, lacksGoProgram } from "../../../harness/go-programs.ts";
import { lacks } from "../../../harness/needs.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../../deployments/deploying.ts";
import { FrameClient } from "../../http2/frame-client.ts";

const folder = new TempFolder();
let server: TestServer;
const address = () => new URL(server.server.grpcUrl).host;
const port = () => Number(new URL(server.server.grpcUrl).port);

beforeAll(async () => {
  server = await TestServer.start(folder.path);
  expectLive(await deploy(server, GREETING));
  await server.server.ready;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function transport(at = server, more: object = {}) {
  const token = await at.token();
  return createGrpcTransport({
    baseUrl: at.server.grpcUrl,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", `Bearer ${token}`);
        return next(request);
      },
    ],
    ...more,
  });
}

/** A server with a certificate for `localhost`. */
async function startEncrypted(own: TempFolder, authority: Authority): Promise<TestServer> {
  const leaf = authority.sign("localhost");
  const [cert, key] = [join(authority.folder, "leaf.pem"), join(authority.folder, "leaf.key")];
  await Promise.all([Bun.write(cert, leaf.cert), Bun.write(key, leaf.key)]);
  return TestServer.start(own.path, { tls: { cert, key }, grpcPort: 0, allowedHosts: ["localhost"] });
}

async function run(...command: string[]): Promise<{ code: number; out: string }> {
  const running = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([new Response(running.stdout).text(), new Response(running.stderr).text(), running.exited]);
  return { code, out: out + err };
}

const hasGrpcio = Bun.spawnSync(["python3", "-c", "import grpc"], { stderr: "ignore" }).success;

test.skipIf(lacks("grpcio", hasGrpcio))(
  "gRPC's Python library",
  async () => {
    const { out } = await run("python3", join(import.meta.dir, "client.py"), address(), await server.token());
    expect(out).toStartWith("{");
    type Outcome = { answer?: string; code?: string; message?: string; details?: string };
    const came = JSON.parse(out) as Record<string, Outcome> & { watched: string; at_once: number };
    const bytes = ({ answer }: Outcome = {}) => Buffer.from(answer ?? "", "base64");
    expect(came.health).toEqual({ answer: Buffer.from([8, Status.SERVING]).toString("base64") });
    expect(came.unknown).toMatchObject({ code: "NOT_FOUND" });
    expect(came.watched).toBe(Buffer.from([8, Status.SERVING]).toString("base64"));
    expect(came.nobody).toMatchObject({ code: "UNAUTHENTICATED", message: "The request has no access token." });
    expect(fromBinary(WhoAmIResponseSchema, bytes(came.known)).grpcServer).toBe(server.server.grpcUrl);
    for (const one of [came.query, came.compressed])
      expect(fromBinary(QueryResponseSchema, bytes(one)).data.map(({ value }) => value && fromProtoValue(value))).toEqual(["hello user 5"]);
    expect(came.wrong).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(Buffer.from(came.wrong?.details ?? "", "base64").toString()).toContain("type.googleapis.com/svc.v1.ErrorDetail");
    expect(came.missing).toMatchObject({ code: "UNIMPLEMENTED" });
    expect(came.at_once).toBe(50);
  },
  300_000,
);

describe.skipIf(lacksGoProgram("grpcurl"))("grpcurl, which is grpc-go", () => {
  const grpcurl = (...args: string[]) => run(goProgram("grpcurl"), "-plaintext", ...args);

  test("lists and describes what there is, and calls it", async () => {
    const authorization = `authorization: Bearer ${await server.token()}`;
    const listed = await grpcurl(address(), "list");
    expect(listed.out.split("\n")).toEqual(
      expect.arrayContaining(["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "svc.v1.QueryService"]),
    );
    expect((await grpcurl(address(), "describe", "svc.v1.QueryRequest")).out).toContain("repeated string outputs = 2;");
    expect((await grpcurl(address(), "describe", "svc.v1.Nothing")).out).toContain("not found");
    expect((await grpcurl(address(), "grpc.health.v1.Health/Check")).out).toContain('"SERVING"');
    const asked = '{"inputs":[{"feature":"user.id","text":"6"}],"outputs":["user.greeting"]}';
    const answer = await grpcurl("-H", authorization, "-d", asked, address(), "svc.v1.QueryService/Query");
    expect(JSON.parse(answer.out)).toMatchObject({ data: [{ value: { stringValue: "hello user 6" } }] });
    const refused = await grpcurl("-d", asked, address(), "svc.v1.QueryService/Query");
    expect(refused.out).toContain("Unauthenticated");
    expect(refused.out).toContain("ERROR_CODE_UNAUTHENTICATED");
  }, 300_000);

  test("over TLS", async () => {
    using authority = new Authority();
    using own = new TempFolder();
    await using encrypted = await startEncrypted(own, authority);
    const who = await encrypted.client(AuthService, { headers: { host: "localhost" } }).whoAmI({});
    const tls = new URL(who.grpcServer).port;
    expect(who.grpcServer).toBe(`https://localhost:${tls}`);
    const over = await run(goProgram("grpcurl"), "-cacert", authority.certificate, `localhost:${tls}`, "grpc.health.v1.Health/Check");
    expect(over.out).toContain('"SERVING"');
    expect(
      (await run(goProgram("grpcurl"), "-plaintext", "-max-time", "5", `localhost:${tls}`, "grpc.health.v1.Health/Check")).code,
    ).not.toBe(0);
    expect((await grpcurl(new URL(encrypted.server.grpcUrl).host, "grpc.health.v1.Health/Check")).out).toContain('"SERVING"');
  }, 300_000);
});

describe.skipIf(lacksGoProgram("grpc-go"))("grpc-go, with messages of the server's reflection", () => {
  interface Outcome {
    readonly answer?: { readonly data?: readonly object[]; readonly outcomes?: readonly object[] };
    readonly code?: string;
    readonly message?: string;
    readonly details?: readonly object[];
    readonly count?: number;
  }
  async function came(...args: string[]) {
    const { code, out } = await run(goProgram("grpc-go"), ...args);
    expect(code, out).toBe(0);
    return JSON.parse(out) as {
      readonly services: readonly string[];
      readonly health: string;
      readonly watched: string;
      readonly calls: Readonly<Record<string, Outcome>>;
      readonly at_once: Readonly<Record<string, number>>;
    };
  }
  function expectAll({ at_once, calls, health, services, watched }: Awaited<ReturnType<typeof came>>): void {
    expect([health, watched]).toEqual(["SERVING", "SERVING"]);
    expect(services).toEqual(expect.arrayContaining(["grpc.health.v1.Health", "svc.v1.QueryService", "svc.v1.WatchService"]));
    const greeting = [expect.objectContaining({ field: "user.greeting", value: { stringValue: "hello user 5" } })];
    for (const one of ["query", "compressed"]) expect(calls[one]?.answer?.data).toEqual(greeting);
    expect(calls.multi?.answer?.outcomes).toEqual([
      { response: expect.objectContaining({ data: greeting }) },
      { failure: expect.objectContaining({ code: "invalid_argument", errors: [expect.objectContaining({ feature: "user.nmae" })] }) },
    ]);
    const detail = (more: object) => expect.objectContaining({ "@type": "type.googleapis.com/svc.v1.ErrorDetail", ...more });
    expect(calls.wrong).toMatchObject({
      code: "InvalidArgument",
      details: [detail({ feature: "user.greetin", code: "ERROR_CODE_PARSE_FAILED" })],
    });
    expect(calls.nobody).toMatchObject({
      code: "Unauthenticated",
      message: "The request has no access token.",
      details: [detail({ code: "ERROR_CODE_UNAUTHENTICATED" })],
    });
    expect(calls.stream).toMatchObject({ code: "Canceled", count: 1 });
    expect(calls.late).toMatchObject({ code: "DeadlineExceeded" });
    expect(calls.refused).toMatchObject({ code: "InvalidArgument" });
    expect(at_once).toEqual({ "": 50 });
  }

  test("over HTTP/2 as it is", async () => {
    expectAll(await came(address(), await server.token()));
  }, 300_000);

  test("over TLS", async () => {
    using authority = new Authority();
    using own = new TempFolder();
    await using encrypted = await startEncrypted(own, authority);
    expectLive(await deploy(encrypted, GREETING));
    await encrypted.server.ready;
    const { grpcServer } = await encrypted.client(AuthService, { headers: { host: "localhost" } }).whoAmI({});
    expectAll(await came(new URL(grpcServer).host, await encrypted.token(), authority.certificate));
  }, 300_000);
});

describe("by frames", () => {
  const open = (path: string, more: readonly Field[] = [], authority = address()) =>
    headerBlock([
      [":method", "POST"],
      [":scheme", "http"],
      [":authority", authority],
      [":path", path],
      ["content-type", "application/grpc"],
      ...more,
    ]);
  const BULK = "/svc.v1.QueryService/QueryBulk";

  /** The fields of the header block that ends a stream. */
  async function ending(client: FrameClient, id: number): Promise<Record<string, string>> {
    const last = await client.received(
      ({ flags, kind, stream }) => stream === id && kind === Kind.HEADERS && (flags & Flag.END_STREAM) !== 0,
    );
    return Object.fromEntries(new HeaderDecoder().decode(last.payload, 1_000_000));
  }

  function claim(length: number): Uint8Array {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(length, 1);
    return head;
  }

  test("nobody's body is waited for, and no body that is too long", async () => {
    using client = await FrameClient.connect(port());
    const authorization: Field = ["authorization", `Bearer ${await server.token()}`];
    client.send(frame(Kind.HEADERS, Flag.END_HEADERS, 1, open(BULK)), frame(Kind.DATA, 0, 1, claim(30_000_000)));
    expect(await ending(client, 1)).toMatchObject({ "grpc-status": String(Code.Unauthenticated) });
    client.send(frame(Kind.HEADERS, Flag.END_HEADERS, 3, open(BULK, [authorization])), frame(Kind.DATA, 0, 3, claim(40_000_000)));
    expect(await ending(client, 3)).toMatchObject({ "grpc-status": String(Code.ResourceExhausted) });
    client.send(frame(Kind.HEADERS, Flag.END_HEADERS, 5, open("/grpc.health.v1.Health/Check")), frame(Kind.DATA, 0, 5, claim(20_000)));
    expect(await ending(client, 5)).toMatchObject({ "grpc-status": String(Code.ResourceExhausted) });
  });

  test("what is no call is refused with the reason", async () => {
    using client = await FrameClient.connect(port());
    const whole = Flag.END_HEADERS | Flag.END_STREAM;
    client.send(frame(Kind.HEADERS, whole, 1, open("/svc.v1.AuthService/WhoAmI")));
    expect(await ending(client, 1)).toMatchObject({
      ":status": "200",
      "grpc-status": "3",
      "grpc-message": encodeURI("The call has no message."),
    });
    client.send(frame(Kind.HEADERS, whole, 3, open("/svc.v1.AuthService/WhoAmI", [["grpc-timeout", "1 hour"]])));
    expect((await ending(client, 3))["grpc-message"]).toStartWith("grpc-timeout");
    client.send(
      frame(Kind.HEADERS, Flag.END_HEADERS, 5, open("/grpc.health.v1.Health/Check", [], "evil.example.com")),
      frame(Kind.DATA, Flag.END_STREAM, 5, claim(0)),
    );
    expect(await ending(client, 5)).toMatchObject({ "grpc-status": String(Code.PermissionDenied) });
    const get = headerBlock([
      [":method", "GET"],
      [":scheme", "http"],
      [":authority", address()],
      [":path", "/"],
    ]);
    client.send(frame(Kind.HEADERS, whole, 7, get));
    expect(await ending(client, 7)).toMatchObject({ ":status": "415" });
    for (const [id, body] of [
      [9, Buffer.concat([claim(0), claim(0)])],
      [11, Buffer.from([1, 0, 0, 0, 0])],
      [13, claim(3)],
    ] as const) {
      client.send(
        frame(Kind.HEADERS, Flag.END_HEADERS, id, open("/grpc.health.v1.Health/Check")),
        frame(Kind.DATA, Flag.END_STREAM, id, body),
      );
      expect(await ending(client, id)).toMatchObject({ "grpc-status": String(Code.InvalidArgument) });
    }
  });

  test("reflection answers each question as it comes, and refuses what is no question", async () => {
    using client = await FrameClient.connect(port());
    const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    const question = (bytes: readonly number[]) => Buffer.concat([claim(bytes.length), Buffer.from(bytes)]);
    client.send(frame(Kind.HEADERS, Flag.END_HEADERS, 1, open(path)), frame(Kind.DATA, 0, 1, question([0x3a, 0])));
    await client.received(({ kind, payload }) => kind === Kind.DATA && payload.includes("svc.v1.QueryService"));
    client.send(frame(Kind.DATA, 0, 1, question([0x1a, 3, 0x61, 0x2e, 0x62])));
    await client.received(({ kind, payload }) => kind === Kind.DATA && payload.includes("There is no file a.b."));
    client.send(frame(Kind.DATA, 0, 1, question([0xff])));
    expect(await ending(client, 1)).toMatchObject({ "grpc-status": String(Code.InvalidArgument) });
  });
});

test("streams come message by message, and end with the call", async () => {
  const client = createClient(WatchService, await transport());
  const leaving = new AbortController();
  const topics: unknown[] = [];
  const reading = (async () => {
    for await (const message of client.watch({ topics: [WatchTopic.RUNS] }, { signal: leaving.signal })) topics.push(message);
  })();
  await eventually(() => topics.length > 0, "the stream begins");
  leaving.abort();
  expect(ConnectError.from(await reading.catch((error: unknown) => error)).code).toBe(Code.Canceled);
  const limited = createClient(WatchService, await transport(server, { defaultTimeoutMs: 500 }));
  const late = (async () => {
    for await (const _ of limited.watch({ topics: [WatchTopic.RUNS] }));
  })();
  expect(ConnectError.from(await late.catch((error: unknown) => error)).code).toBe(Code.DeadlineExceeded);
});

test("calls have rows in the audit log, and lines in the log", async () => {
  const secrets = createClient(SecretService, await transport());
  await secrets.deleteSecrets({ names: ["NONE"] }).catch(() => undefined);
  const { logs } = await server.client(AuditService).listAuditLogs({});
  expect(logs.map(({ endpoint }) => endpoint)).toContain("svc.v1.SecretService/DeleteSecrets");
  expect(server.log).toContainEqual(expect.objectContaining({ message: "request", path: "/svc.v1.SecretService/DeleteSecrets" }));
});

test("the port says to others where HTTP is", async () => {
  const response = await fetch(`http://${address()}/health`);
  expect([response.status, ((await response.json()) as { message: string }).message]).toEqual([505, expect.stringContaining(server.url)]);
});

test("a server that stops answers what runs, and tells who watches", async () => {
  using own = new TempFolder();
  const stopping = await TestServer.start(own.path);
  await stopping.server.ready;
  const health = createClient(Health, createGrpcTransport({ baseUrl: stopping.server.grpcUrl }));
  const seen: Status[] = [];
  const watching = (async () => {
    for await (const { status } of health.watch({})) seen.push(status);
  })();
  await eventually(() => seen.length > 0, "it is told");
  await stopping.server.stop();
  await watching.catch(() => undefined);
  expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING]);
  expect((await health.check({}).catch((error: unknown) => ConnectError.from(error))) instanceof ConnectError).toBe(true);
});

test("many bodies at once, each larger than a window", async () => {
  const client = createClient(QueryService, await transport());
  const values = Array.from({ length: 20_000 }, (_, id) => ({ feature: "user.id", value: { case: "text" as const, value: String(id) } }));
  const answers = await Promise.all(
    Array.from({ length: 3 }, () => client.queryBulk({ query: { outputs: ["user.greeting"] }, inputs: [{ feature: "user.id", values }] })),
  );
  for (const { columns } of answers) expect(columns[0]?.values.length).toBe(20_000);
}, 300_000);
