import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Failure } from "../../../src/server/failure.ts";
import { MAX_HEAD_BYTES } from "../../../src/server/http1/head.ts";
import { eventually } from "../../harness/eventually.ts";
import { RawServer, TestGateway } from "./gateway-harness.ts";

/** A server of HTTP by another implementation, which says what it was asked. */
let echo: Server;
let port: number;
let gateway: TestGateway;
const BYTES = 100 * 1024 * 1024;

beforeAll(async () => {
  echo = createServer((request, response) => {
    const path = request.url ?? "";
    if (path === "/sum") return sum(request, (bytes, digest) => response.end(JSON.stringify({ bytes, digest })));
    if (path === "/big") {
      response.writeHead(200, { "content-length": String(BYTES) });
      const piece = Buffer.alloc(1024 * 1024, 7);
      let left = BYTES / piece.length;
      const more = (): void => {
        while (left > 0) {
          left--;
          if (!response.write(piece)) return void response.once("drain", more);
        }
        response.end();
      };
      return more();
    }
    if (path === "/events") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: first\n\n");
      request.on("close", () => response.end());
      return;
    }
    if (path === "/redirect") {
      response.writeHead(302, {
        location: "/elsewhere",
        "set-cookie": ["a=1; Path=/; Domain=localhost", "svc_session_1=x", "=svc_session_1=x; Path=/", "b=2"],
      });
      return response.end();
    }
    if (path === "/host-wide") {
      response.writeHead(200, {
        "strict-transport-security": "max-age=9",
        "clear-site-data": '"*"',
        "service-worker-allowed": "/",
        "x-own": "1",
      });
      return response.end();
    }
    if (path === "/empty") return response.writeHead(204).end();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ method: request.method, path, headers: request.headers, raw: request.rawHeaders }));
  });
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
  port = (echo.address() as AddressInfo).port;
  gateway = new TestGateway({ names: ["svc.example.com"] });
  gateway.route("web", port);
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  echo.closeAllConnections();
  echo.close();
});

function sum(request: IncomingMessage, done: (bytes: number, digest: string) => void): void {
  const hasher = new Bun.CryptoHasher("sha256");
  let bytes = 0;
  request.on("data", (piece: Buffer) => {
    bytes += piece.length;
    hasher.update(piece);
  });
  request.on("end", () => done(bytes, hasher.digest("hex")));
}

interface Echoed {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function echoed(path: string, init: RequestInit = {}): Promise<Echoed> {
  return (await (await fetch(`${gateway.url}${path}`, init)).json()) as Echoed;
}

interface Told {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

async function told(response: Response): Promise<readonly [number, string]> {
  return [response.status, ((await response.json()) as Told).message];
}

describe("where requests go", () => {
  test("a path's first part names the route, and is taken away", async () => {
    expect(await echoed("/web/a/b?c=d")).toMatchObject({
      path: "/a/b?c=d",
      headers: { "x-forwarded-prefix": "/web", "x-forwarded-proto": "http" },
    });
    expect((await echoed("/web/?q")).path).toBe("/?q");
    expect((await echoed("/web?q")).path).toBe("/?q");
  });

  test("a path without its slash is led to the one with it", async () => {
    const response = await fetch(`${gateway.url}/web`, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([308, "/web/"]);
  });

  test("a host's first part names the route, under names of the gateway alone", async () => {
    const by = (host: string) => echoed("/a", { headers: { host } });
    expect((await by(`web.localhost:${gateway.port}`)).path).toBe("/a");
    const named = await by("web.svc.example.com");
    expect(named.headers).toMatchObject({ host: "web.svc.example.com", "x-forwarded-host": "web.svc.example.com" });
    expect(named.headers["x-forwarded-prefix"]).toBeUndefined();
    const foreign = await fetch(`${gateway.url}/web/`, { headers: { host: "web.evil.example" } });
    expect((await told(foreign))[0]).toBe(421);
  });

  test("what there is no route for is told so", async () => {
    expect(await told(await fetch(`${gateway.url}/none/x`))).toEqual([404, "There is no route 'none'."]);
    expect(await told(await fetch(`${gateway.url}/`))).toEqual([404, "The path names no route."]);
    const page = await fetch(`${gateway.url}/none/`, { headers: { accept: "text/html" } });
    expect(page.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await page.text()).toStartWith("There is no route 'none'.");
  });

  test("redirects stay under the prefix, and cookies are those of the server alone", async () => {
    const response = await fetch(`${gateway.url}/web/redirect`, { redirect: "manual" });
    expect(response.headers.get("location")).toBe("/web/elsewhere");
    expect(response.headers.getSetCookie()).toEqual(["a=1; Path=/web/", "b=2"]);
  });
});

describe("what passes", () => {
  test("the body of an upload, of a stated length and in chunks", async () => {
    const piece = Buffer.alloc(1024 * 1024, "gateway");
    const hasher = new Bun.CryptoHasher("sha256");
    for (let sent = 0; sent < BYTES; sent += piece.length) hasher.update(piece);
    const expected = { bytes: BYTES, digest: hasher.digest("hex") };
    const upload = (headers: Record<string, string>) =>
      new Promise<unknown>((resolve, reject) => {
        const request = httpRequest(`${gateway.url}/web/sum`, { method: "POST", headers }, (response) => {
          let text = "";
          response.on("data", (bytes) => {
            text += bytes;
          });
          response.on("end", () => resolve(JSON.parse(text)));
        });
        request.on("error", reject);
        let left = BYTES / piece.length;
        const more = (): void => {
          while (left > 0) {
            left--;
            if (!request.write(piece)) return void request.once("drain", more);
          }
          request.end();
        };
        more();
      });
    expect(await upload({ "content-length": String(BYTES) })).toEqual(expected);
    expect(await upload({ "transfer-encoding": "chunked" })).toEqual(expected);
  });

  test("the body of a download, while little of it is held", async () => {
    const before = process.memoryUsage.rss();
    const response = await fetch(`${gateway.url}/web/big`);
    expect(response.headers.get("content-length")).toBe(String(BYTES));
    let bytes = 0;
    for await (const piece of response.body as ReadableStream<Uint8Array>) bytes += piece.length;
    expect(bytes).toBe(BYTES);
    expect(process.memoryUsage.rss() - before).toBeLessThan(BYTES);
  });

  test("events as they come; who leaves ends the request", async () => {
    const left = new AbortController();
    const response = await fetch(`${gateway.url}/web/events`, { signal: left.signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("data: first\n\n");
    expect(gateway.held).toBe(1);
    left.abort();
    await eventually(() => gateway.held === 0, "the request is over");
  });

  test("answers without a body, and heads alone", async () => {
    expect((await fetch(`${gateway.url}/web/empty`)).status).toBe(204);
    const head = await fetch(`${gateway.url}/web/big`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("requests one after the other on a connection, and those that are sent ahead", async () => {
    const one = `GET /web/empty HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    const text = await gateway.raw(`${one}${one}${one.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")}`);
    expect(text.match(/HTTP\/1\.1 204 No Content/g)?.length).toBe(3);
  });

  test("a client of HTTP/1.0 gets a body without chunks", async () => {
    using server = new RawServer((_text, socket) => {
      socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n0\r\ntrailer: x\r\n\r\n");
    });
    gateway.route("chunks", server.port);
    const old = await gateway.raw("GET /chunks/ HTTP/1.0\r\nhost: localhost\r\n\r\n");
    expect(old).toEndWith("\r\n\r\nabc");
    expect(old).not.toContain("transfer-encoding");
    const modern = await gateway.raw("GET /chunks/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    expect(modern).toEndWith("\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  });

  test("messages of a WebSocket both ways, and its end", async () => {
    const server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: (request, self) =>
        self.upgrade(request, { data: undefined, headers: { "sec-websocket-protocol": "p1" } })
          ? undefined
          : new Response("no", { status: 400 }),
      websocket: {
        message: (socket, message) => void (message === "bye" ? socket.close(4001, "ended") : socket.send(message)),
      },
    });
    try {
      gateway.route("socket", server.port as number);
      const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/socket/`, ["p1"]);
      socket.binaryType = "arraybuffer";
      const received: unknown[] = [];
      const closed = new Promise<CloseEvent>((resolve) => socket.addEventListener("close", resolve));
      socket.addEventListener("message", ({ data }) => received.push(data));
      await new Promise((resolve) => socket.addEventListener("open", resolve));
      socket.send("text");
      socket.send(new Uint8Array(300_000).fill(9));
      await eventually(() => received.length === 2, "both came back");
      expect(received[0]).toBe("text");
      expect((received[1] as ArrayBuffer).byteLength).toBe(300_000);
      socket.send("bye");
      expect(await closed).toMatchObject({ code: 4001, reason: "ended" });
      await eventually(() => gateway.held === 0, "the request is over");
    } finally {
      await server.stop(true);
    }
  });
});

describe("what does not pass", () => {
  test("fields of the connection, and claims of who asks", async () => {
    const { headers } = await echoed("/web/", {
      headers: {
        "proxy-authorization": "Basic x",
        te: "trailers",
        "x-forwarded-host": "bank.example",
        "x-forwarded-prefix": "/admin",
        x_forwarded_for: "9.9.9.9",
        forwarded: "for=9.9.9.9",
        "x-own": "kept",
      },
    });
    for (const gone of ["proxy-authorization", "te", "forwarded", "x_forwarded_for"]) expect(headers[gone]).toBeUndefined();
    expect(headers).toMatchObject({
      "x-own": "kept",
      "x-forwarded-host": `127.0.0.1:${gateway.port}`,
      "x-forwarded-prefix": "/web",
      "x-forwarded-for": "127.0.0.1",
    });
    const named = await gateway.raw("GET /web/ HTTP/1.1\r\nhost: localhost\r\nx-secret: 1\r\nconnection: close, x-secret\r\n\r\n");
    expect(named).not.toContain("x-secret");
  });

  test("cookies of the platform", async () => {
    const { headers } = await echoed("/web/", { headers: { cookie: "a=1; svc_session_5757=secret; __Host-svc_login_x=y; b=2" } });
    expect(headers.cookie).toBe("a=1; b=2");
    expect((await echoed("/web/", { headers: { cookie: "svc_session_5757=secret" } })).headers.cookie).toBeUndefined();
  });

  test("what an answer says of the whole host", async () => {
    const { headers } = await fetch(`${gateway.url}/web/host-wide`);
    expect(headers.get("x-own")).toBe("1");
    for (const gone of ["strict-transport-security", "clear-site-data", "service-worker-allowed"]) expect(headers.get(gone)).toBeNull();
  });

  const head = "POST /smuggled/ HTTP/1.1\r\nhost: localhost\r\n";
  test.each([
    ["both lengths", `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    ["two lengths", `${head}content-length: 5\r\ncontent-length: 5\r\n\r\nabcde`, 400],
    ["a list of lengths", `${head}content-length: 5, 5\r\n\r\nabcde`, 400],
    ["a signed length", `${head}content-length: +5\r\n\r\nabcde`, 400],
    ["another coding", `${head}transfer-encoding: gzip, chunked\r\n\r\n`, 501],
    ["a coding with a quirk", `${head}transfer-encoding: xchunked\r\n\r\n`, 501],
    ["chunks in HTTP/1.0", `${head.replace("1.1", "1.0")}transfer-encoding: chunked\r\n\r\n`, 400],
    ["a name with a space", `${head}content-length : 5\r\n\r\nabcde`, 400],
    ["a folded line", `${head}x: a\r\n content-length: 5\r\n\r\nabcde`, 400],
    ["a bare line feed", `${head}x: a\ncontent-length: 5\r\n\r\nabcde`, 400],
    ["a bare return", `${head}x: a\rcontent-length: 5\r\n\r\nabcde`, 400],
    ["a zero byte", `${head}x: a\0b\r\n\r\n`, 400],
    ["no host", "GET /smuggled/ HTTP/1.1\r\n\r\n", 400],
    ["two hosts", `${head}host: localhost\r\n\r\n`, 400],
    ["an absolute target", "GET http://localhost/smuggled/ HTTP/1.1\r\nhost: localhost\r\n\r\n", 400],
    ["CONNECT", "CONNECT localhost:80 HTTP/1.1\r\nhost: localhost\r\n\r\n", 501],
    ["a target with a space", "GET /smuggled/ x HTTP/1.1\r\nhost: localhost\r\n\r\n", 400],
    ["another version", "GET /smuggled/ HTTP/3.0\r\nhost: localhost\r\n\r\n", 505],
    ["a long head", `${head}x: ${"a".repeat(MAX_HEAD_BYTES)}\r\n\r\n`, 431],
    ["many fields", `${head}${"x: a\r\n".repeat(200)}\r\n`, 431],
    ["a WebSocket with a body", `${head}connection: upgrade\r\nupgrade: websocket\r\ncontent-length: 1\r\n\r\na`, 400],
  ])("%s", async (_name, text, status) => {
    using server = new RawServer(() => undefined);
    gateway.route("smuggled", server.port);
    // A request behind it must not be answered either.
    const answer = await gateway.raw(`${text}GET /web/ HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    expect(answer).toStartWith(`HTTP/1.1 ${status} `);
    expect(answer.match(/HTTP\/1\.1 /g)?.length).toBe(1);
    expect(server.seen).toEqual([]);
  });

  test.each([
    ["a size that is no number", "0x5\r\nabcde\r\n0\r\n\r\n"],
    ["a chunk that is longer", "3\r\nabcdef\r\n0\r\n\r\n"],
    ["a line feed alone", "3\nabc\r\n0\r\n\r\n"],
    ["a long extension", `3;${"x".repeat(1_000)}\r\nabc\r\n0\r\n\r\n`],
  ])("a body with %s", async (_name, body) => {
    using server = new RawServer((text, socket) => {
      if (text.endsWith("0\r\n\r\n")) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
    gateway.route("chunked", server.port);
    const answer = await gateway.raw(`POST /chunked/ HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n${body}`);
    expect(answer).toStartWith("HTTP/1.1 400 ");
  });
});

describe("servers that fail", () => {
  test("none takes the connection", async () => {
    const server = new RawServer(() => undefined);
    gateway.route("gone", server.port);
    server[Symbol.dispose]();
    const [status, message] = await told(await fetch(`${gateway.url}/gone/`));
    expect(status).toBe(502);
    expect(message).toStartWith("The container 'gone' takes no connection on its port");
  });

  test.each([
    ["ends without an answer", "", 502],
    ["is no HTTP", "hello\r\n\r\n", 502],
    ["has two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", 502],
    ["has a long head", `HTTP/1.1 200 OK\r\nx: ${"a".repeat(MAX_HEAD_BYTES)}\r\n\r\n`, 502],
    ["changes the protocol unasked", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", 502],
  ])("an answer that %s", async (_name, bytes, status) => {
    using server = new RawServer((_text, socket) => void socket.end(bytes));
    gateway.route("bad", server.port);
    expect((await fetch(`${gateway.url}/bad/`, { method: "POST" })).status).toBe(status);
  });

  test("an answer that is cut does not pass for a whole one", async () => {
    using server = new RawServer((_text, socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"));
    gateway.route("cut", server.port);
    await expect(fetch(`${gateway.url}/cut/`).then((response) => response.text())).rejects.toThrow();
    using chunks = new RawServer((_text, socket) => void socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"));
    gateway.route("cut", chunks.port);
    await expect(fetch(`${gateway.url}/cut/`).then((response) => response.text())).rejects.toThrow();
  });

  test("an answer that does not come", async () => {
    using server = new RawServer(() => undefined);
    await using hasty = new TestGateway({ patience: { answerMs: 50 } });
    hasty.route("slow", server.port);
    const response = await fetch(`${hasty.url}/slow/`);
    expect(await told(response)).toEqual([504, "The container 'slow' did not answer in 0.05 seconds."]);
  });

  test("a kept connection that ended meanwhile costs no request", async () => {
    // Keeps the connection by its answer, and ends it with the next request's bytes.
    using server = new RawServer((text, socket) => {
      const count = text.split("\r\n\r\n").length - 1;
      if (count === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      else socket.terminate();
    });
    gateway.route("flaky", server.port);
    for (let i = 0; i < 5; i++) expect(await (await fetch(`${gateway.url}/flaky/`)).text()).toBe("ok");
  });

  test("a server that is where no container can be", async () => {
    gateway.route("far", port, { lease: async () => ({ address: { host: "169.254.169.254", port: 80 }, release: () => undefined }) });
    expect(await told(await fetch(`${gateway.url}/far/`))).toEqual([502, "The container 'far' is at no address of a container."]);
  });

  test("why there is no server, in words", async () => {
    gateway.route("none", port, { lease: () => Promise.reject(new Failure("unavailable", "It starts.", { hint: "Wait." })) });
    const response = await fetch(`${gateway.url}/none/`);
    expect(response.headers.get("retry-after")).toBe("1");
    expect((await response.json()) as Told).toMatchObject({ message: "It starts.", hint: "Wait.", code: "unavailable" });
  });
});

describe("who may ask", () => {
  test("a route with tokens is for who has the permission in its environment", async () => {
    using server = new RawServer((_text, socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    gateway.route("guarded", server.port, { isAuthenticated: true });
    const ask = async (authorization?: string) =>
      (await fetch(`${gateway.url}/guarded/`, { method: "POST", body: "x", headers: authorization === undefined ? {} : { authorization } }))
        .status;
    for (const [given, status] of [
      [undefined, 401],
      ["Bearer bad", 401],
      ["Basic good", 401],
      ["Bearer weak", 403],
      ["Bearer elsewhere", 403],
      ["Bearer stranger", 403],
    ] as const)
      expect([given, await ask(given)]).toEqual([given, status]);
    expect(server.seen).toEqual([]);
    expect(await ask("Bearer good")).toBe(200);
    expect(server.seen.join("")).not.toContain("good");
    const refused = await fetch(`${gateway.url}/guarded/`);
    expect(refused.headers.get("www-authenticate")).toBe("Bearer");
  });

  test("other routes are given the Authorization of their own", async () => {
    expect((await echoed("/web/", { headers: { authorization: "Bearer its-own" } })).headers.authorization).toBe("Bearer its-own");
  });

  test("a private route is for programs of this machine", async () => {
    gateway.route("inner", port, { isPrivate: true });
    const ask = async (headers: Record<string, string>) => (await fetch(`${gateway.url}/inner/`, { headers })).status;
    expect(await ask({})).toBe(200);
    expect(await ask({ origin: gateway.url })).toBe(200);
    expect(await ask({ "x-forwarded-for": "127.0.0.1, 203.0.113.9" })).toBe(403);
    expect(await ask({ host: "svc.example.com" })).toBe(403);
    expect(await ask({ origin: "http://evil.example" })).toBe(403);
    expect(await ask({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" })).toBe(403);
  });
});

test("a gateway that stops lets requests end, and takes no others", async () => {
  const answer = Promise.withResolvers<void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async () => {
      await answer.promise;
      return new Response("whole");
    },
  });
  const leaving = new TestGateway();
  leaving.route("slow", server.port as number);
  const asked = fetch(`${leaving.url}/slow/`);
  await eventually(() => leaving.held === 1, "the request is passed on");
  const drained = leaving.drain();
  await expect(fetch(`${leaving.url}/slow/`)).rejects.toThrow();
  answer.resolve();
  expect(await (await asked).text()).toBe("whole");
  await drained;
  await server.stop(true);
});

test("nothing of these went into the log as a fault", () => {
  expect(gateway.faults).toEqual([]);
});
