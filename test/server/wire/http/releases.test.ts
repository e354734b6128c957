/** A folder of releases as the server serves it: to everyone, read-only, and nothing else. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { NO_BUILD_FOR_386 } from "../../../../src/domain/release/no-build.ts";
import { start } from "../../../../src/server/boot/start.ts";
import { createGuard } from "../../../../src/server/wire/http/guard.ts";
import { TempFolder, TestClock, TestServer } from "../../../harness/running-server.ts";

const INDEX = {
  format: 1,
  latest: "v0.2.0",
  expires_at: "2100-01-01T00:00:00Z",
  releases: [
    { version: "v0.2.0", component: "svc", published_at: "2026-01-01T00:00:00Z", notes: "", manifest: "releases/v0.2.0/manifest.json" },
  ],
};
const HASH = "0".repeat(64);
const BINARY = { url: "svc-linux-amd64", sha256: HASH, size: 300_000, encodings: {}, deltas: [] };
const MANIFEST = {
  format: 1,
  version: "v0.2.0",
  commit: "abc",
  built_at: "2026-01-01T00:00:00Z",
  expires_at: "2100-01-01T00:00:00Z",
  min_version: "v0.1.0",
  targets: { "linux-amd64": BINARY, "windows-amd64": { ...BINARY, url: "svc-windows-amd64.exe" } },
};
const CONTENT = crypto.getRandomValues(new Uint8Array(60_000));

const folder = new TempFolder();
const feed = join(folder.path, "feed");
let server: TestServer;

beforeAll(async () => {
  const release = join(feed, "releases/v0.2.0");
  mkdirSync(release, { recursive: true });
  mkdirSync(join(feed, "latest"));
  const files: Record<string, string | Uint8Array> = {
    "install.sh": '#!/bin/sh\nPUBLIC_KEY="RWQ"\nBASE_URL="https://releases.example"\nmain "$@"\n',
    "install.ps1": '$PUBLIC_KEY = ""\r\n$BASE_URL = ""\r\nMain @args\r\n',
    "changelog.md": "# Changes\n",
    "index.json": JSON.stringify(INDEX),
    "index.json.minisig": "signature",
    "secret.key": "nobody else sees",
    "releases/v0.2.0/manifest.json": JSON.stringify(MANIFEST),
    "releases/v0.2.0/SHA256SUMS": "sums",
    "releases/v0.2.0/svc-linux-amd64": CONTENT,
    "releases/v0.2.0/svc-linux-amd64.zst": "zst",
    "releases/v0.2.0/svc-windows-amd64": "MZ",
    "releases/v0.2.0/signing.key": "nobody else sees",
    "releases/v0.2.0/.svc-hidden": "nobody else sees",
  };
  for (const [path, content] of Object.entries(files)) writeFileSync(join(feed, path), content);
  for (const name of ["manifest.json", "SHA256SUMS", "svc-linux-amd64"]) linkSync(join(release, name), join(feed, "latest", name));
  writeFileSync(join(folder.path, "outside"), "nobody else sees");
  symlinkSync(join(folder.path, "outside"), join(release, "svc-linked-out"));
  symlinkSync("../../../feed/releases/v0.2.0/svc-linux-amd64", join(release, "svc-linked-within"));
  symlinkSync(folder.path, join(feed, "releases/v0.3.0"));
  mkdirSync(join(release, "svc-folder"));
  Bun.spawnSync(["mkfifo", join(release, "svc-pipe")]);
  server = await TestServer.start(folder.path, { releases: feed });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const get = (path: string, init: RequestInit = {}) =>
  fetch(`${server.server.url}${path}`, { ...init, signal: AbortSignal.timeout(120_000) });

/** Sends a raw request line with any Host; returns the whole answer. */
function raw(line: string, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.server.port, "127.0.0.1", () =>
      socket.write(`${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
    );
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(text));
  });
}

describe("what is handed out", () => {
  test.each([
    ["/install.sh", "text/plain; charset=utf-8"],
    ["/install.ps1", "text/plain; charset=utf-8"],
    ["/changelog.md", "text/markdown; charset=utf-8"],
    ["/index.json", "application/json"],
    ["/index.json.minisig", "text/plain; charset=utf-8"],
    ["/latest/manifest.json", "application/json"],
    ["/latest/SHA256SUMS", "text/plain; charset=utf-8"],
    ["/releases/v0.2.0/svc-linux-amd64", "application/octet-stream"],
    ["/releases/v0.2.0/svc-linux-amd64.zst", "application/zstd"],
    ["/releases/v0.2.0/svc-linked-within", "application/octet-stream"],
  ])("%s as %s, without a token", async (path, type) => {
    const answer = await get(path);
    expect([answer.status, answer.headers.get("content-type"), answer.headers.get("content-encoding")]).toEqual([200, type, null]);
    const head = await get(path, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String((await answer.arrayBuffer()).byteLength)]);
    expect(head.headers.get("etag")).toBe(answer.headers.get("etag"));
  });

  test("the bytes, a range of them, and nothing when they are known", async () => {
    const path = "/latest/svc-linux-amd64";
    const whole = await get(path);
    expect(await whole.bytes()).toEqual(CONTENT);
    const etag = whole.headers.get("etag") ?? "";
    const part = await get(path, { headers: { range: "bytes=50000-" } });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 50000-59999/60000"]);
    expect(await part.bytes()).toEqual(CONTENT.subarray(50_000));
    const resumed = await get(path, { headers: { range: "bytes=10-19", "if-range": etag } });
    expect(await resumed.bytes()).toEqual(CONTENT.subarray(10, 20));
    const changed = await get(path, { headers: { range: "bytes=10-19", "if-range": '"another"' } });
    expect([changed.status, (await changed.bytes()).length]).toEqual([200, 60_000]);
    expect((await get(path, { headers: { range: "bytes=60000-" } })).status).toBe(416);
    const known = await get(path, { headers: { "if-none-match": `"x", W/${etag}` } });
    expect([known.status, await known.text()]).toEqual([304, ""]);
    expect((await get(path, { headers: { "if-none-match": '"another"' } })).status).toBe(200);
  });

  test("the install scripts fetch from here, by the name that the request used", async () => {
    const own = server.server.url;
    expect(await (await get("/install.sh")).text()).toBe(`#!/bin/sh\nPUBLIC_KEY="RWQ"\nBASE_URL="${own}"\nmain "$@"\n`);
    expect(await (await get("/install.ps1")).text()).toBe(`$PUBLIC_KEY = ""\r\n$BASE_URL = "${own}"\r\nMain @args\r\n`);
    expect(await raw("GET /install.sh", "mirror.example:8080")).toContain('\nBASE_URL="http://mirror.example:8080"\n');
    expect(await raw("GET /install.sh", "[fd00::1]:8080")).toContain('\nBASE_URL="http://[fd00::1]:8080"\n');
    const proxied = await get("/install.sh", { headers: { "x-forwarded-proto": "https" } });
    expect(await proxied.text()).toContain(`BASE_URL="${own.replace("http:", "https:")}"`);
  });

  test.each(['x"; touch evil; "', "$(touch evil)", "a`b`", "a b", "a\\b", "evil.example/path"])(
    "a Host of %j is never written into a script",
    async (host) => {
      const answer = await raw("GET /install.sh", host);
      expect(answer).not.toContain(host);
      if (answer.startsWith("HTTP/1.1 200")) expect(answer).toContain('BASE_URL="https://releases.example"');
    },
  );
});

describe("what is not", () => {
  test.each([
    "/secret.key",
    "/releases/v0.2.0/signing.key",
    "/releases/v0.2.0/.svc-hidden",
    "/releases/v0.2.0/svc-linked-out",
    "/releases/v0.2.0/svc-folder",
    "/releases/v0.2.0/svc-pipe",
    "/releases/v0.2.0/",
    "/releases/v0.2.0",
    "/releases/",
    "/releases/v0.3.0/outside",
    "/releases/v0.3.0/svc-x",
    "/latest/",
    "/latest/../secret.key",
    "/latest/..%2fsecret.key",
    "/latest/%2e%2e/secret.key",
    "/latest/..%5csecret.key",
    "/latest/svc%00",
    "/latest/svc-linux-amd64/x",
    "/releases/../../outside",
    "/releases/..%2f..%2foutside",
    "/releases/v0.2.0/..%2f..%2f..%2foutside",
    "/releases//v0.2.0/svc-linux-amd64",
    "/releases/v0.2.0/svc-linux-amd64%20",
    "//etc/passwd",
  ])("%s", async (path) => {
    const answer = await raw(`GET ${path}`, new URL(server.server.url).host);
    expect(answer).toMatch(/^HTTP\/1\.1 (400|403|404) /);
    expect(answer).not.toContain("nobody else sees");
  });

  test("the latest release, file by file, where the folder has no copy of it", async () => {
    expect(await (await get("/latest/svc-linux-amd64.zst")).text()).toBe("zst");
    expect((await get("/latest/SHA256SUMS.minisig")).status).toBe(404);
  });

  test("a browser saves a build for Windows as a program, under whichever name it was asked for", async () => {
    const answer = await get("/latest/svc-windows-amd64");
    expect([await answer.text(), answer.headers.get("content-disposition")]).toEqual([
      "MZ",
      'attachment; filename="svc-windows-amd64.exe"',
    ]);
    expect((await get("/latest/svc-linux-amd64")).headers.get("content-disposition")).not.toContain(".exe");
  });

  test("a target that is not built says which are", async () => {
    for (const path of ["/latest/svc-windows-386", "/releases/v0.2.0/svc-windows-386.exe.zst"]) {
      const answer = await get(path);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "text/plain; charset=utf-8"]);
      expect(await answer.text()).toBe(NO_BUILD_FOR_386.text);
    }
    expect(await (await get("/latest/svc-darwin-arm64")).text()).toBe(
      "There is no build of svc v0.2.0 for darwin-arm64.\nIt is built for: linux-amd64, windows-amd64.\n",
    );
    const lost = await get("/releases/v0.2.0/svc-windows-amd64.exe");
    expect([lost.status, ((await lost.json()) as { message: string }).message]).toEqual([
      404,
      "This mirror has no /releases/v0.2.0/svc-windows-amd64.exe.",
    ]);
    expect((await get("/releases/v0.9.0/svc-linux-amd64")).status).toBe(404);
  });

  test.each(["POST", "PUT", "DELETE", "PATCH"])("%s", async (method) => {
    const answer = await get("/latest/svc-linux-amd64", { method });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("a server without the folder has none of it", async () => {
    using other = new TempFolder();
    await using plain = await TestServer.start(other.path);
    for (const path of ["/install.sh", "/latest/svc-linux-amd64"]) expect((await fetch(plain.server.url + path)).status).toBe(404);
    expect((await fetch(`${plain.server.url}/install.sh`, { headers: { host: "evil.example" } })).status).toBe(403);
  });
});

describe("other machines", () => {
  const guard = (host: string) => createGuard({ host, port: 5757, allowedHosts: [], othersRefused: "releases only" });
  const refusal = (host: string, peer: string | undefined, name = "127.0.0.1:5757") => guard(host)(new Headers({ host: name }), () => peer);

  test("get releases and nothing else, whatever Host they name", () => {
    for (const peer of ["10.0.0.7", "::ffff:10.0.0.7", "fe80::1", "unknown"]) {
      expect(refusal("0.0.0.0", peer)).toBe("releases only");
      expect(refusal("10.0.0.1", peer, "10.0.0.1:5757")).toBe("releases only");
    }
  });

  test("this machine keeps everything, also by the address that is bound", () => {
    for (const peer of ["127.0.0.1", "::1", "::ffff:127.0.0.1", undefined]) expect(refusal("0.0.0.0", peer)).toBeUndefined();
    expect(refusal("10.0.0.1", "10.0.0.1", "10.0.0.1:5757")).toBeUndefined();
    expect(refusal("10.0.0.1", "::ffff:10.0.0.1", "10.0.0.1:5757")).toBeUndefined();
    expect(refusal("10.0.0.1", "10.0.0.1", "evil.example")).toContain("Host header");
  });
});

describe("a folder that holds no releases", () => {
  const beginsWith = (releases: string) => {
    using data = new TempFolder();
    const options = { port: 0, dataDir: join(data.path, "data"), clock: new TestClock(), env: {}, log: () => {}, version: "v0.0.0" };
    return start({ ...options, releases }).then(
      async (started) => {
        await started.stop();
        return "started";
      },
      (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
    );
  };

  test("is refused at the start, with the reason", async () => {
    using empty = new TempFolder();
    expect(await beginsWith(join(empty.path, "none"))).toBe(
      `releases_unusable: ${join(empty.path, "none")} is no folder of releases: its index.json cannot be read: no such file or directory.`,
    );
    expect(await beginsWith(empty.path)).toContain("its index.json cannot be read");
    await Bun.write(join(empty.path, "index.json"), "<html>");
    expect(await beginsWith(empty.path)).toContain("the feed is not JSON");
    await Bun.write(join(empty.path, "index.json"), JSON.stringify({ ...INDEX, releases: [] }));
    expect(await beginsWith(empty.path)).toContain("names no release");
  });
});
