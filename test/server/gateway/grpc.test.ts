import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { Failure } from "../../../src/server/failure.ts";
import { eventually } from "../../harness/eventually.ts";
import { RawServer, TestGateway } from "./gateway-harness.ts";

/** A server of gRPC by another implementation. */
let server: Http2Server;
let gateway: TestGateway;
const seen: Record<string, string | null>[] = [];
let isWatchOver = false;

beforeAll(async () => {
  server = createServer(
    connectNodeAdapter({
      routes(router) {
        router.service(Health, {
          check({ service }, context) {
            seen.push({ authorization: context.requestHeader.get("authorization"), own: context.requestHeader.get("x-own") });
            if (service === "bad") throw new ConnectError("no such service: ü", Code.NotFound, { "x-detail": "1" });
            context.responseHeader.set("x-answer", "1");
            context.responseTrailer.set("x-last", "2");
            return { status: Status.SERVING };
          },
          async *watch({ service }, context) {
            yield { status: Status.SERVING };
            if (service === "ends") return;
            await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
            isWatchOver = true;
          },
        });
        router.service(ServerReflection, {
          async *serverReflectionInfo(requests) {
            for await (const { host } of requests) yield { validHost: `${host.length}` };
          },
        });
      },
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  gateway = new TestGateway();
  const { port } = server.address() as AddressInfo;
  gateway.route("rpc", port, { isGrpc: true });
  gateway.route("guarded", port, { isGrpc: true, isAuthenticated: true });
  gateway.route("web", port);
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  server.close();
});

function clientOf<S extends Parameters<typeof createClient>[0]>(service: S, label = "rpc", headers: Record<string, string> = {}) {
  const given: Interceptor = (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request);
  };
  return createClient(service, createGrpcTransport({ baseUrl: `${gateway.url}/${label}`, interceptors: [given] }));
}

async function refusal(call: Promise<unknown>): Promise<readonly [Code, string]> {
  try {
    await call;
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return [code, rawMessage];
  }
  throw new Error("the call was answered");
}

describe("calls of gRPC", () => {
  test("a message each way, with fields and trailers", async () => {
    const headers: Record<string, string | null> = {};
    const { status } = await clientOf(Health, "rpc", { "x-own": "1" }).check(
      { service: "" },
      {
        onHeader(given) {
          headers.answer = given.get("x-answer");
        },
        onTrailer(given) {
          headers.last = given.get("x-last");
        },
      },
    );
    expect(status).toBe(Status.SERVING);
    expect(headers).toEqual({ answer: "1", last: "2" });
    expect(seen.at(-1)).toEqual({ authorization: null, own: "1" });
  });

  test("an error, in the server's words", async () => {
    expect(await refusal(clientOf(Health).check({ service: "bad" }))).toEqual([Code.NotFound, "no such service: ü"]);
  });

  test("a stream of answers as they come; who leaves ends it", async () => {
    const left = new AbortController();
    for await (const { status } of clientOf(Health).watch({ service: "" }, { signal: left.signal })) {
      expect(status).toBe(Status.SERVING);
      expect(gateway.held).toBe(1);
      break;
    }
    left.abort();
    await eventually(() => isWatchOver && gateway.held === 0, "the call is over on both sides");
    const all = await Array.fromAsync(clientOf(Health).watch({ service: "ends" }));
    expect(all).toHaveLength(1);
  });

  test("messages both ways, also large ones", async () => {
    const sizes = [1, 300_000, 2_000_000];
    async function* questions() {
      for (const size of sizes) yield { host: "x".repeat(size) };
    }
    const answers = await Array.fromAsync(clientOf(ServerReflection).serverReflectionInfo(questions()));
    expect(answers.map(({ validHost }) => Number(validHost))).toEqual(sizes);
  });

  test("many calls at once", async () => {
    const client = clientOf(Health);
    const all = await Promise.all(Array.from({ length: 100 }, () => client.check({ service: "" })));
    expect(all.every(({ status }) => status === Status.SERVING)).toBe(true);
  });

  test("a route with tokens takes them, and does not pass them on", async () => {
    expect((await refusal(clientOf(Health, "guarded").check({})))[0]).toBe(Code.Unauthenticated);
    expect((await refusal(clientOf(Health, "guarded", { authorization: "Bearer weak" }).check({})))[0]).toBe(Code.PermissionDenied);
    const before = seen.length;
    await clientOf(Health, "guarded", { authorization: "Bearer good" }).check({});
    expect(seen.slice(before)).toEqual([{ authorization: null, own: null }]);
  });

  test("refusals in words", async () => {
    expect(await refusal(clientOf(Health, "none").check({}))).toMatchObject([Code.NotFound, expect.stringContaining("no route 'none'")]);
    expect(await refusal(clientOf(Health, "web").check({}))).toMatchObject([Code.Unimplemented, expect.stringContaining("by HTTP/1.1")]);
    gateway.route("starting", 1, { isGrpc: true, lease: () => Promise.reject(new Failure("unavailable", "It starts.")) });
    expect(await refusal(clientOf(Health, "starting").check({}))).toEqual([Code.Unavailable, "It starts."]);
    const asked = await fetch(`${gateway.url}/rpc/`);
    expect(asked.status).toBe(426);
  });

  test("a server that is none of HTTP/2, or that is gone", async () => {
    using other = new RawServer((_text, socket) => void socket.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"));
    gateway.route("other", other.port, { isGrpc: true });
    expect((await refusal(clientOf(Health, "other").check({})))[0]).toBe(Code.Unavailable);
    const gone = new RawServer(() => undefined);
    gateway.route("gone", gone.port, { isGrpc: true });
    gone[Symbol.dispose]();
    expect((await refusal(clientOf(Health, "gone").check({})))[0]).toBe(Code.Unavailable);
    expect(gateway.faults).toEqual([]);
  });
});
