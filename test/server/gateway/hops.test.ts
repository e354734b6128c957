/** Requests that the gateway of one node passes to that of another. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer as createHttp2, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.ts";
import { GATEWAY_ADDRESS_VARIABLE, gatewayAddress, serverAt } from "../../../src/server/gateway/gateway-address.ts";
import { createHops } from "../../../src/server/gateway/hops.ts";
import { HOP_FIELD } from "../../../src/server/gateway/passed-fields.ts";
import { Authority } from "../../harness/authority.ts";
import { eventually } from "../../harness/eventually.ts";
import { lacksProgram } from "../../harness/needs.ts";
import { CLOCK, KEYS, RawServer, rawExchange, TestGateway } from "./gateway-harness.ts";

/** What containers answer: all that they are asked; `/sum` the bytes of a body. */
let web: Bun.Server<undefined>;
let rpc: Http2Server;
/** The gateway that is asked, and that of the node which has the containers. */
let near: TestGateway;
let far: TestGateway;
const HERE = "node_one";
const THERE = "node_two";

beforeAll(async () => {
  web = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request, server) {
      const { pathname } = new URL(request.url);
      if (server.upgrade(request)) return undefined;
      if (pathname === "/moved") return new Response("", { status: 302, headers: { location: "/next", "set-cookie": "a=1; Path=/" } });
      if (pathname === "/sum") return new Response(String((await request.bytes()).length));
      return Response.json({ method: request.method, path: pathname, headers: Object.fromEntries(request.headers) });
    },
    websocket: { message: (socket, message) => void socket.send(`heard ${String(message)}`) },
  });
  rpc = createHttp2(connectNodeAdapter({ routes: (router) => router.service(Health, { check: () => ({ status: Status.SERVING }) }) }));
  await new Promise<void>((resolve) => rpc.listen(0, "127.0.0.1", resolve));
  far = new TestGateway({ node: THERE, names: ["far.example.com"] });
  near = new TestGateway({ node: HERE, names: ["near.example.com"] });
  const grpcPort = (rpc.address() as AddressInfo).port;
  for (const [label, port, options] of [
    ["web", web.port ?? 0, {}],
    ["guarded", web.port ?? 0, { isAuthenticated: true }],
    ["rpc", grpcPort, { isGrpc: true }],
  ] as const) {
    far.route(label, port, options);
    near.route(label, far.port, { ...options, node: THERE });
  }
});

afterAll(async () => {
  await near[Symbol.asyncDispose]();
  await far[Symbol.asyncDispose]();
  await web.stop(true);
  rpc.close();
});

interface Echoed {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

const told = async (response: Response): Promise<string> =>
  `${response.status} ${((await response.json()) as { message: string }).message}`;
const statuses = (all: readonly { status: number; isCountedThere?: boolean }[]): number[] =>
  all.filter(({ isCountedThere }) => !isCountedThere).map(({ status }) => status);

describe("a request that is passed on", () => {
  test("is what it would be at the other gateway: path, prefix, fields, and who sent it", async () => {
    const headers = { "x-own": "1", "x-forwarded-for": "198.51.100.7", cookie: "svc_session=x; a=1" };
    const [direct, passed] = await Promise.all(
      [far, near].map(async ({ url }) => (await (await fetch(`${url}/web/a/b?c=d`, { headers })).json()) as Echoed),
    );
    const { host: _direct, "x-forwarded-host": _of, ...wanted } = direct?.headers ?? {};
    const { host, "x-forwarded-host": forwarded, ...given } = passed?.headers ?? {};
    expect([given, passed?.path]).toEqual([wanted, "/a/b"]);
    expect([given["x-forwarded-for"], given["x-forwarded-prefix"], given.cookie]).toEqual(["198.51.100.7, 127.0.0.1", "/web", "a=1"]);
    expect([host, forwarded, HOP_FIELD in given]).toEqual([`127.0.0.1:${near.port}`, `127.0.0.1:${near.port}`, false]);
  });

  test("may name its route by a host that only the first gateway knows", async () => {
    const response = await rawExchange(near.port, "GET /x HTTP/1.1\r\nhost: web.near.example.com\r\nconnection: close\r\n\r\n");
    expect(response).toContain('"path":"/x"');
  });

  test("has its body as it comes, and the answer its redirects and cookies below the prefix, once", async () => {
    const size = 8 * 1024 * 1024;
    const piece = new Uint8Array(size / 8);
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(piece);
        if (++sent === 8) controller.close();
      },
    });
    expect(await (await fetch(`${near.url}/web/sum`, { method: "POST", body })).text()).toBe(String(size));
    const moved = await fetch(`${near.url}/web/moved`, { redirect: "manual" });
    expect([moved.headers.get("location"), moved.headers.get("set-cookie")]).toEqual(["/web/next", "a=1; Path=/web/"]);
  });

  test("may become a WebSocket", async () => {
    const socket = new WebSocket(`${near.url.replace("http", "ws")}/web/socket`);
    const heard = new Promise<string>((resolve, reject) => {
      socket.onmessage = ({ data }) => resolve(String(data));
      socket.onerror = () => reject(new Error("no connection"));
    });
    await new Promise((resolve) => {
      socket.onopen = resolve;
    });
    socket.send("a word");
    expect(await heard).toBe("heard a word");
    socket.close();
  });

  test("may be a call of gRPC", async () => {
    const transport = createGrpcTransport({
      baseUrl: near.url,
      interceptors: [(next) => (request) => next({ ...request, url: request.url.replace("/grpc.health", "/rpc/grpc.health") })],
    });
    const { status } = await createClient(Health, transport).check({ service: "x" });
    expect(status).toBe(Status.SERVING);
  });

  test("needs its token at the first gateway, and its server never has it", async () => {
    const before = far.seen.length;
    expect((await fetch(`${near.url}/guarded/x`)).status).toBe(401);
    expect([far.seen.length, near.refused.at(-1)]).toEqual([before, "guarded unauthenticated"]);
    const response = await fetch(`${near.url}/guarded/x`, { headers: { authorization: "Bearer good" } });
    expect([response.status, "authorization" in ((await response.json()) as Echoed).headers]).toEqual([200, false]);
  });

  test("is counted once, by the node that has its route", async () => {
    const [here, there] = [near.seen.length, far.seen.length];
    await (await fetch(`${near.url}/web/x`)).text();
    await eventually(() => far.seen.length === there + 1, "that it was seen");
    expect([statuses(near.seen.slice(here)), statuses(far.seen.slice(there))]).toEqual([[], [200]]);
  });
});

describe("who says that a request was passed on", () => {
  const request = { method: "GET", target: "/web/x", host: "far.example.com" };
  const sender = { peer: "127.0.0.1", isEncrypted: false };
  const hop = { label: "web", prefix: "/web", sender };
  const hopsOf = (more: Partial<Parameters<typeof createHops>[0]> = {}) => createHops({ keys: KEYS, node: HERE, clock: CLOCK, ...more });
  const ask = async (value: string, { method = request.method, target = request.target, host = request.host } = {}) => {
    const text = await rawExchange(
      far.port,
      `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\n${HOP_FIELD}: ${value}\r\nconnection: close\r\n\r\n`,
    );
    const status = text.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
    return status === "200"
      ? `200 ${(JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)) as Echoed).path}`
      : `${status} ${/"message":"([^"]*)/.exec(text)?.[1]}`;
  };

  test("is a node alone: what others say is refused, and so is its word for another request, node or time", async () => {
    const [, good] = hopsOf().field(request, hop, THERE);
    expect(await ask(good)).toBe("200 /x");
    const refused = `403 No node of this platform signed the header ${HOP_FIELD}, by which gateways pass requests on.`;
    const foreign = hopsOf({ keys: [{ id: "0123456789ab", secret: new Uint8Array(32).fill(8) }] }).field(request, hop, THERE)[1];
    for (const forged of ["x", "", "e30.x", `${good}x`, foreign, `${good.replace(/^./, (first) => (first === "e" ? "f" : "e"))}`])
      expect([forged, await ask(forged)]).toEqual([forged, refused]);
    expect(await ask(good, { target: "/web/y" })).toBe(refused);
    expect(await ask(good, { method: "DELETE" })).toBe(refused);
    expect(await ask(good, { host: "localhost" })).toBe(refused);
    expect(await ask(hopsOf().field(request, hop, "node_three")[1])).toBe(
      `421 The gateway of another node passed this request on to the node node_three, and it came to ${THERE}.`,
    );
    const late = hopsOf({ clock: { ...CLOCK, now: () => CLOCK.now() - 61_000 } }).field(request, hop, THERE)[1];
    expect(await ask(late)).toContain("403 The request was passed on more than a minute ago");
  });

  test("cannot make a client of another machine one of the node's own: private routes are reached without a hop", async () => {
    far.route("own", web.port ?? 0, { isPrivate: true });
    near.route("own", far.port, { node: THERE });
    expect((await fetch(`${far.url}/own/x`)).status).toBe(200);
    expect(await told(await fetch(`${near.url}/own/x`))).toStartWith("403 This route is private");
  });
});

describe("another node that cannot be asked", () => {
  test("is passed nothing twice: two gateways that each believe the other has a route", async () => {
    far.route("lost", near.port, { node: HERE });
    near.route("lost", far.port, { node: THERE });
    const [here, there] = [near.seen.length, far.seen.length];
    expect(await told(await fetch(`${near.url}/lost/x`))).toBe(
      `421 The container 'lost' is on another node, ${HERE}, than the gateway believed that passed the request on.`,
    );
    expect([near.seen.length - here, far.seen.length - there]).toEqual([1, 1]);
  });

  test("is named where it takes no connection, or ends one without an answer; both are counted here", async () => {
    using silent = new RawServer((_text, socket) => void socket.terminate());
    using gone = new RawServer(() => undefined);
    const { port } = gone;
    gone[Symbol.dispose]();
    near.route("gone", port, { node: THERE });
    near.route("dying", silent.port, { node: THERE });
    const before = near.seen.length;
    const there = (name: string): string => `502 The gateway of the node ${THERE}, which has the container '${name}',`;
    expect(await told(await fetch(`${near.url}/gone/x`, { method: "POST", body: "x" }))).toStartWith(
      `${there("gone")} cannot be reached: `,
    );
    expect(await told(await fetch(`${near.url}/dying/x`))).toBe(`${there("dying")} ended the connection without an answer.`);
    expect(statuses(near.seen.slice(before))).toEqual([502, 502]);
    near.route("gone-rpc", port, { node: THERE, isGrpc: true });
    const transport = createGrpcTransport({
      baseUrl: near.url,
      interceptors: [(next) => (one) => next({ ...one, url: one.url.replace("/grpc.health", "/gone-rpc/grpc.health") })],
    });
    expect(
      await createClient(Health, transport)
        .check({})
        .catch((error: Error) => error.message),
    ).toContain(`the node ${THERE}`);
  });

  test("that dies in the middle of an answer cuts it off, so that nobody takes it for whole", async () => {
    using dying = new RawServer((_text, socket) => {
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
    });
    near.route("half", dying.port, { node: THERE });
    const whole = fetch(`${near.url}/half/x`).then((response) => response.text());
    expect(await whole.catch(() => "cut off")).toBe("cut off");
  });

  test.skipIf(lacksProgram("openssl"))(
    "is trusted by its certificate alone",
    async () => {
      using authority = new Authority();
      const certificate = authority.sign("localhost");
      await using secured = new TestGateway({ node: THERE, certificate });
      secured.route("web", web.port ?? 0);
      const address = { host: "localhost", port: secured.port, isEncrypted: true };
      const route = { node: THERE, lease: async () => ({ address, release: () => undefined }) };
      near.route("secured", 0, route);
      expect(await told(await fetch(`${near.url}/secured/x`))).toMatch(
        /^502 The gateway of the node node_two, .* cannot be reached: .*certificate/i,
      );
      const asks = `
      const { connectPipe } = await import(${JSON.stringify(new URL("../../../src/server/http1/connections.ts", import.meta.url).pathname)});
      const pipe = await connectPipe({ host: "localhost", port: ${secured.port}, isEncrypted: true });
      await pipe.write(Buffer.from("GET /web/x HTTP/1.1\\r\\nhost: localhost\\r\\nconnection: close\\r\\n\\r\\n"));
      console.log(Buffer.from(await pipe.read()).toString().split("\\r\\n")[0]);
      process.exit();
    `;
      const run = async (more: Readonly<Record<string, string>>) => {
        const child = Bun.spawn([process.execPath, "-e", asks], { env: { PATH: process.env.PATH ?? "", ...more }, stderr: "pipe" });
        return `${await new Response(child.stdout).text()}${await new Response(child.stderr).text()}`;
      };
      expect(await run({ NODE_EXTRA_CA_CERTS: authority.certificate })).toBe("HTTP/1.1 200 OK\n");
      expect(await run({})).toMatch(/certificate/i);
    },
    300_000,
  );
});

describe("where other nodes reach a gateway", () => {
  test("is what its operator says, else what it is bound to, unless that is every address", () => {
    const urls = ["https://10.0.0.5:6669", "http://127.0.0.1:4000"];
    expect(gatewayAddress({}, "10.0.0.5", urls)).toBe("https://10.0.0.5:6669");
    expect(gatewayAddress({}, "127.0.0.1", urls)).toBe("http://127.0.0.1:4000");
    expect(gatewayAddress({}, "0.0.0.0", urls)).toBe("");
    expect(gatewayAddress({ [GATEWAY_ADDRESS_VARIABLE]: "https://node-1.internal" }, "0.0.0.0", urls)).toBe("https://node-1.internal");
    for (const wrong of ["node-1", "ftp://a", "https://a/b", "https://u:p@a", "https://a?b"])
      expect(() => gatewayAddress({ [GATEWAY_ADDRESS_VARIABLE]: wrong }, "::", urls)).toThrow("which is no address of a gateway");
    expect([serverAt("https://a"), serverAt("http://[::1]:7"), serverAt("")]).toEqual([
      { host: "a", port: 443, isEncrypted: true },
      { host: "::1", port: 7, isEncrypted: false },
      undefined,
    ]);
  });
});
