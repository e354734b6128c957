/** Release hosts that misbehave: what an update says to it, what it keeps, and how much memory and disk it gives away. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip, createZstdCompress } from "node:zlib";
import type { ReleaseManifest } from "../../src/domain/release/manifest.ts";
import { CountingHost } from "../harness/counting-host.ts";
import { InstalledMachine } from "../harness/installed-machine.ts";
import { addSmallRelease, builtFeed, emptyFeed, TARGET, type TestFeed } from "../harness/releases.ts";

let built: TestFeed;
let root: string;
beforeAll(async () => {
  built = await builtFeed();
  root = mkdtempSync(join(tmpdir(), "svc-refused-"));
}, 120_000);
afterAll(() => rmSync(root, { recursive: true, force: true }));

const NAME = `svc-${TARGET}`;
const newFeed = () => emptyFeed(built, join(root, crypto.randomUUID()));

/** A feed that offers v0.2.0, spoiled. */
async function spoiled(spoil: (feed: TestFeed) => void | Promise<void>): Promise<TestFeed> {
  const feed = newFeed();
  await addSmallRelease(feed, "v0.2.0");
  await spoil(feed);
  return feed;
}

/** A feed whose v0.2.0 has a manifest that says something else. */
async function offering(change: (manifest: ReleaseManifest) => ReleaseManifest, build?: Uint8Array): Promise<TestFeed> {
  const feed = newFeed();
  await addSmallRelease(feed, "v0.2.0", { change, build });
  return feed;
}

const changeTarget = (manifest: ReleaseManifest, change: (target: ReleaseManifest["targets"][string]) => object): ReleaseManifest => {
  const target = manifest.targets[TARGET] ?? expect.unreachable();
  return { ...manifest, targets: { [TARGET]: { ...target, ...change(target) } } };
};

/** A certificate for localhost, signed by itself. */
function certificate(dir: string): { cert: string; key: string; file: string } {
  const [file, keyFile] = [join(dir, "localhost.pem"), join(dir, "localhost.key")];
  const words = `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${keyFile} -out ${file}`;
  const made = Bun.spawnSync(["openssl", ...words.split(" ")]);
  if (!made.success) throw new Error(`no certificate: ${made.stderr}`);
  return { cert: readFileSync(file, "utf8"), key: readFileSync(keyFile, "utf8"), file };
}

describe("hosts that misbehave", () => {
  const cases: [string, string, (host: CountingHost) => void][] = [
    ["an error of the host", "release_unreachable", (host) => host.faults.set("*", () => new Response("oops", { status: 503 }))],
    ["a refusal", "release_unreachable", (host) => host.faults.set("*", () => new Response("no", { status: 403 }))],
    [
      "a circle of redirects",
      "release_unreachable",
      (host) => host.faults.set("*", () => new Response(null, { status: 302, headers: { location: "/again" } })),
    ],
    [
      "a page of HTML for everything",
      "signature_malformed",
      (host) =>
        host.faults.set("*", () => new Response("<!doctype html><title>Log in</title>", { headers: { "content-type": "text/html" } })),
    ],
  ];
  test.each(cases)("%s", async (_, code, spoil) => {
    const feed = await spoiled(() => {});
    using host = new CountingHost(feed.dir);
    spoil(host);
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const refused = await machine.refusal(["update", "--from", host.url]);
    expect([refused.code, refused.exitCode, await machine.version()]).toEqual([code, 1, "v0.1.0"]);
    expect(machine.files().filter((name) => name.startsWith(".svc-update-"))).toEqual([]);
  });

  test("a download that is cut", async () => {
    const feed = await spoiled(() => {});
    using host = new CountingHost(feed.dir);
    const { size } = Bun.file(join(feed.dir, "releases", "v0.2.0", `${NAME}.zst`));
    const cutting = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket) {
          socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\nhalf`);
          socket.end();
        },
      },
    });
    host.faults.set(`/releases/v0.2.0/${NAME}.zst`, () => Response.redirect(`http://127.0.0.1:${cutting.port}/`, 302));
    try {
      using machine = new InstalledMachine(built, ["v0.1.0"]);
      const refused = await machine.refusal(["update", "--from", host.url]);
      expect([refused.code, await machine.version()]).toEqual(["release_unreachable", "v0.1.0"]);
      expect(machine.files()).toEqual([".svc-install.json", ".svc-update.lock", "svc", "svc-v0.1.0"]);
    } finally {
      cutting.stop(true);
    }
  });

  test("files may lie on another host, as long as it is https", async () => {
    const tls = certificate(root);
    const elsewhere = newFeed();
    await addSmallRelease(elsewhere, "v0.2.0");
    const secure = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls,
      fetch: (request) => new Response(Bun.file(join(elsewhere.dir, new URL(request.url).pathname))),
    });
    const at = (scheme: string) => (file: { readonly url: string }) => ({
      ...file,
      url: `${scheme}://localhost:${secure.port}/releases/v0.2.0/${file.url}`,
    });
    const moved = (scheme: string) =>
      offering((manifest) =>
        changeTarget(manifest, (target) => ({
          ...at(scheme)(target),
          encodings: Object.fromEntries(Object.entries(target.encodings).map(([name, file]) => [name, at(scheme)(file)])),
        })),
      );
    try {
      const feed = await moved("https");
      for (const name of [NAME, `${NAME}.zst`, `${NAME}.gz`]) rmSync(join(feed.dir, "releases", "v0.2.0", name));
      using machine = new InstalledMachine(built, ["v0.1.0"]);
      const refused = await machine.refusal(["update", "--from", (await moved("http")).dir]);
      expect(refused.code).toBe("release_damaged");
      const { exitCode } = await machine.run(["update", "--from", feed.dir], { env: { NODE_EXTRA_CA_CERTS: tls.file } });
      expect([exitCode, await machine.version()]).toEqual([0, "v0.2.0"]);
    } finally {
      await secure.stop(true);
    }
  });

  test("https never leads to http", async () => {
    const feed = await spoiled(() => {});
    using plain = new CountingHost(feed.dir);
    const tls = certificate(root);
    const secure = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      tls,
      fetch: (request) => Response.redirect(`${plain.url}${new URL(request.url).pathname}`, 302),
    });
    try {
      using machine = new InstalledMachine(built, ["v0.1.0"]);
      const env = { NODE_EXTRA_CA_CERTS: tls.file };
      const refused = await machine.refusal(["update", "--from", `https://localhost:${secure.port}`], { env });
      expect([refused.code, plain.served]).toEqual(["release_insecure", []]);
      const untrusted = await machine.refusal(["update", "--from", `https://localhost:${secure.port}`], {
        env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" },
      });
      expect([untrusted.code, untrusted.message]).toEqual(["release_unreachable", expect.stringContaining("certificate")]);
    } finally {
      await secure.stop(true);
    }
  });
});

describe.skipIf(process.platform !== "linux")("floods", () => {
  const LEAST_MEMORY = 10 * 1024 * 1024;
  const MOST_MEMORY = 250 * 1024 * 1024;
  const endless = () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          controller.enqueue(new Uint8Array(1_000_000));
          await Bun.sleep(0);
        },
      }),
    );

  /** The most memory that a process has had until now, in bytes; undefined when it has ended. What `wait` tells of it counts its parent's too. */
  function peakMemory(pid: number): number | undefined {
    try {
      return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN) * 1024 || undefined;
    } catch {
      return undefined;
    }
  }

  /** A gigabyte of zeros, compressed. */
  async function packedNothing(encoding: "zst" | "gz"): Promise<Uint8Array<ArrayBuffer>> {
    const piece = Buffer.alloc(1024 * 1024);
    const packer = encoding === "zst" ? createZstdCompress() : createGzip();
    const parts: Buffer[] = [];
    packer.on("data", (part: Buffer) => parts.push(part));
    await pipeline(Readable.from(Array.from({ length: 1024 }, () => piece)), packer);
    return Uint8Array.from(Buffer.concat(parts));
  }

  /** Runs an update that must be refused, and resolves with its code and the most memory it took. */
  async function flooded(machine: InstalledMachine, from: string): Promise<{ code: string; memory: number }> {
    const child = Bun.spawn([machine.svc, "update", "--from", from, "--json"], {
      env: machine.env,
      cwd: machine.root,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    let memory = 0;
    let ended = false;
    const watching = (async () => {
      for (; !ended; await Bun.sleep(2)) memory = peakMemory(child.pid) ?? memory;
    })();
    const [stderr] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    ended = true;
    await watching;
    const { error } = JSON.parse(stderr) as { error: { code: string } };
    return { code: error.code, memory };
  }

  test.each(["/index.json", "/index.json.minisig", "/releases/v0.2.0/manifest.json"])("%s without end", async (path) => {
    const feed = await spoiled(() => {});
    using host = new CountingHost(feed.dir);
    host.faults.set(path, endless);
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { code, memory } = await flooded(machine, host.url);
    expect(code).toBe(path.endsWith(".minisig") ? "signature_malformed" : "release_too_large");
    expect(memory).toBeGreaterThan(LEAST_MEMORY);
    expect(memory).toBeLessThan(MOST_MEMORY);
  });

  test("binaries without end", async () => {
    const feed = await spoiled(() => {});
    using host = new CountingHost(feed.dir);
    for (const name of [NAME, `${NAME}.zst`, `${NAME}.gz`]) host.faults.set(`/releases/v0.2.0/${name}`, endless);
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { code, memory } = await flooded(machine, host.url);
    expect(code).toBe("release_too_large");
    expect(memory).toBeGreaterThan(LEAST_MEMORY);
    expect(memory).toBeLessThan(MOST_MEMORY);
    expect(machine.files()).toEqual([".svc-install.json", ".svc-update.lock", "svc", "svc-v0.1.0"]);
  });

  test.each(["zst", "gz"] as const)("a gigabyte of nothing in a small .%s that was signed", async (encoding) => {
    const bomb = await packedNothing(encoding);
    const feed = await offering((manifest) =>
      changeTarget(manifest, () => ({
        encodings: {
          [encoding]: { url: `bomb.${encoding}`, sha256: new Bun.CryptoHasher("sha256").update(bomb).digest("hex"), size: bomb.length },
        },
      })),
    );
    writeFileSync(join(feed.dir, "releases", "v0.2.0", `bomb.${encoding}`), bomb);
    rmSync(join(feed.dir, "releases", "v0.2.0", NAME));
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { code, memory } = await flooded(machine, feed.dir);
    expect(code).toBe("release_too_large");
    expect(memory).toBeGreaterThan(LEAST_MEMORY);
    expect(memory).toBeLessThan(MOST_MEMORY);
    expect(machine.files()).toEqual([".svc-install.json", ".svc-update.lock", "svc", "svc-v0.1.0"]);
  });

  test("a gigabyte of nothing as the encoding of an answer", async () => {
    const feed = await spoiled(() => {});
    const bomb = await packedNothing("gz");
    using host = new CountingHost(feed.dir);
    host.faults.set("/index.json", () => new Response(bomb, { headers: { "content-encoding": "gzip" } }));
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { code, memory } = await flooded(machine, host.url);
    expect(code).toBe("signature_wrong");
    expect(memory).toBeGreaterThan(LEAST_MEMORY);
    expect(memory).toBeLessThan(MOST_MEMORY);
  });
});
