import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { start } from "../../../../src/server/boot/start.ts";
import { createGuard, isLoopback, isLoopbackPeer } from "../../../../src/server/wire/http/guard.ts";
import { TempFolder, TestClock, TestServer } from "../../../harness/running-server.ts";

const folder = new TempFolder();
let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start(folder.path, { allowedHosts: ["svc.internal"] });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/**
 * Sends raw bytes and returns the status of the answer: an HTTP client would correct the headers.
 */
function rawStatus(lines: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.server.port, "127.0.0.1", () => socket.write(`${lines.join("\r\n")}\r\n\r\n`));
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      if (status) {
        socket.destroy();
        resolve(Number(status));
      }
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`closed without an answer: ${text}`)));
  });
}

describe("Host and Origin", () => {
  const own = () => `127.0.0.1:${server.server.port}`;
  const cases: [string, () => string[], number][] = [
    ["its own Host", () => [`Host: ${own()}`], 200],
    ["localhost", () => [`Host: localhost:${server.server.port}`], 200],
    ["upper case", () => [`Host: LOCALHOST:${server.server.port}`], 200],
    ["IPv6 loopback", () => [`Host: [::1]:${server.server.port}`], 200],
    ["a foreign Host", () => ["Host: evil.example"], 403],
    ["a foreign Host with the port", () => [`Host: evil.example:${server.server.port}`], 403],
    ["a forwarded port", () => ["Host: 127.0.0.1:1"], 200],
    ["a forwarded port with the Origin of another", () => ["Host: 127.0.0.1:1", `Origin: http://${own()}`], 403],
    ["its own Host without the port", () => ["Host: 127.0.0.1"], 200],
    ["a loopback name in front of another", () => ["Host: 127.0.0.1.evil.example:1"], 403],
    ["another name before the port", () => [`Host: evil.example@127.0.0.1:${server.server.port}`], 403],
    ["a name that begins like its own", () => [`Host: localhost.evil.example:${server.server.port}`], 403],
    [
      "a name of its own, as Go's client sends it",
      () => [`Host: svc.internal:${server.server.port}`, "User-Agent: Go-http-client/1.1", "Accept-Encoding: gzip"],
      200,
    ],
    ["a name of its own with another port", () => ["Host: svc.internal:1"], 403],
    ["a name below one of its own", () => [`Host: a.svc.internal:${server.server.port}`], 403],
    ["an empty Host", () => ["Host:"], 403],
    ["its own Origin", () => [`Host: ${own()}`, `Origin: http://${own()}`], 200],
    ["a foreign Origin", () => [`Host: ${own()}`, "Origin: http://evil.example"], 403],
    ["an Origin on another port", () => [`Host: ${own()}`, "Origin: http://127.0.0.1:1"], 403],
    ["the null Origin", () => [`Host: ${own()}`, "Origin: null"], 403],
    ["a request of another site", () => [`Host: ${own()}`, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"], 403],
    ["a request of another port's page", () => [`Host: ${own()}`, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors"], 403],
    ["a link from another site", () => [`Host: ${own()}`, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"], 200],
  ];
  test.each(cases)("%s", async (_name, headers, status) => {
    for (const path of ["/health", "/"]) expect(await rawStatus([`GET ${path} HTTP/1.1`, ...headers()])).toBe(status);
  });

  test("a foreign page cannot call a service, exchange a token, or decide a login", async () => {
    for (const path of ["/svc.v1.AuthService/CreateLoginSession", "/v1/oauth/token", "/cli/login_0", "/v1/query/online"]) {
      const response = await fetch(server.url + path, { method: "POST", headers: { origin: "http://evil.example" }, body: "x" });
      expect(response.status).toBe(403);
    }
  });

  test("no answer allows other origins", async () => {
    const response = await fetch(`${server.url}/health`, { headers: { origin: server.url } });
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    const preflight = await fetch(`${server.url}/v1/oauth/token`, {
      method: "OPTIONS",
      headers: { origin: "http://evil.example", "access-control-request-method": "POST" },
    });
    expect(preflight.status).toBe(403);
  });

  test("further hosts are those that were named", () => {
    const guard = createGuard({ host: "127.0.0.1", port: 5757, allowedHosts: ["svc.example.com", "proxy.example.com:8443"] });
    const refused = (host: string) => guard(new Headers({ host })) !== undefined;
    expect(refused("svc.example.com:5757")).toBe(false);
    expect(refused("proxy.example.com:8443")).toBe(false);
    expect(refused("proxy.example.com:5757")).toBe(true);
    expect(refused("other.example.com:5757")).toBe(true);
  });
});

describe("paths", () => {
  test.each([
    "//health",
    "/health/..%2f",
    "/%2e%2e/etc/passwd",
    "/v1/objects/..%2f..%2fmeta.db",
    "/svc.v1.AuthService/",
    "/svc.v1.Nothing/Get",
    "/cli/../meta.db",
  ])("%s leads nowhere", async (path) => {
    const status = await rawStatus([`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${server.server.port}`]);
    expect([400, 403, 404, 405]).toContain(status);
  });

  test("a body over the cap is 413 and is not read to its end; of a caller who may not call, none is read", async () => {
    const call = (...headers: string[]) =>
      rawStatus([
        "POST /svc.v1.AuthService/WhoAmI HTTP/1.1",
        `Host: 127.0.0.1:${server.server.port}`,
        "Content-Type: application/proto",
        `Content-Length: ${64 * 1024 * 1024}`,
        ...headers,
        "",
        "x",
      ]);
    expect(await call()).toBe(401);
    expect(await call(`Authorization: Bearer ${await server.token()}`)).toBe(413);
  });

  test("health says its version", async () => {
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({ status: "ok", version: "1.2.3-test", pid: process.pid });
    const forwarded = await fetch(`${server.url}/health`, { headers: { "x-forwarded-for": "192.0.2.7" } });
    expect(await forwarded.json()).toEqual({ status: "ok", version: "1.2.3-test" });
    expect((await fetch(`${server.url}/health`, { method: "POST" })).status).toBe(405);
  });
});

describe("binding", () => {
  test("listens on loopback alone", async () => {
    expect(new URL(server.url).hostname).toBe("127.0.0.1");
    if (process.platform !== "linux") return;
    const port = server.server.port.toString(16).toUpperCase().padStart(4, "0");
    const listening = `${await Bun.file("/proc/net/tcp").text()}\n${await Bun.file("/proc/net/tcp6")
      .text()
      .catch(() => "")}`
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[1]?.endsWith(`:${port}`) && fields[3] === "0A")
      .map((fields) => fields[1]);
    expect(listening).toEqual([`0100007F:${port}`]);
  });

  test.each(["0.0.0.0", "::", "192.0.2.1", "example.com"])("%s is refused unless it is meant, and nothing is made", async (host) => {
    using elsewhere = new TempFolder();
    const dataDir = `${elsewhere.path}/data`;
    const options = { host, port: 0, dataDir, clock: new TestClock(), env: {}, log: () => undefined, version: "1" };
    await expect(start(options)).rejects.toMatchObject({ name: "StartError", code: "host_refused" });
    expect(await Bun.file(`${dataDir}/server.lock`).exists()).toBe(false);
  });

  test("a port in use is said", async () => {
    using elsewhere = new TempFolder();
    const options = {
      port: server.server.port,
      dataDir: elsewhere.path,
      clock: new TestClock(),
      env: {},
      log: () => undefined,
      version: "1",
    };
    await expect(start(options)).rejects.toMatchObject({ code: "port_in_use" });
  });

  test("loopback addresses", () => {
    expect(["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"].map(isLoopback)).toEqual([true, true, true, true, true]);
    expect(["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.evil.example", "1127.0.0.1"].map(isLoopback)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
    expect(["::ffff:127.0.0.1", "::ffff:10.0.0.1", undefined].map(isLoopbackPeer)).toEqual([true, false, false]);
  });
});
