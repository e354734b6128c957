/**
 * Release hosts that misbehave: what an update says to it, what it keeps, and how much memory and
 * disk it gives away.
 */

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip, createZstdCompress } from "node:zlib";
import { InstalledMachine } from "../harness/installed-machine.ts";
import { builtFeed, TARGET } from "../harness/release-feed.ts";
import { answers, hangsUp, neverEnds, ReleaseHost, redirects, TestAuthority } from "../harness/release-host.ts";
import { BUILD_FILES, changeTarget, SmallFeeds } from "../harness/small-release.ts";

const built = await builtFeed();
const feeds = new SmallFeeds(built);
const authority = TestAuthority.make();
afterAll(() => {
  feeds[Symbol.dispose]();
  authority?.[Symbol.dispose]();
});

const NAME = `svc-${TARGET}`;
const TRUSTING = { NODE_EXTRA_CA_CERTS: authority?.certificate };

describe("hosts that misbehave", () => {
  test.each([
    ["an error of the host", "release_unreachable", answers("oops", 503)],
    ["a refusal", "release_unreachable", answers("no", 403)],
    ["a circle of redirects", "release_unreachable", redirects("/again")],
    ["a page of HTML for everything", "signature_malformed", answers("<!doctype html><title>Log in</title>")],
  ])("%s", async (_, code, fault) => {
    const feed = await feeds.spoiled();
    await using host = await ReleaseHost.serve(feed.dir, { faults: [[/./, fault]] });
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const refused = await machine.refusal(["update", "--from", host.url]);
    expect([refused.code, refused.exitCode, await machine.version()]).toEqual([code, 1, "v0.1.0"]);
    expect(machine.files().filter((name) => name.startsWith(".svc-update-"))).toEqual([]);
  });

  test("a download that is cut", async () => {
    const feed = await feeds.spoiled();
    const { size } = Bun.file(join(feed.dir, "releases", "v0.2.0", `${NAME}.zst`));
    await using host = await ReleaseHost.serve(feed.dir, { faults: [[/v0\.2\.0\/svc-.*\.zst$/, hangsUp(size, 4)]] });
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const refused = await machine.refusal(["update", "--from", host.url]);
    expect([refused.code, await machine.version()]).toEqual(["release_unreachable", "v0.1.0"]);
    expect(machine.files()).toEqual([".svc-install.json", ".svc-update.lock", "svc", "svc-v0.1.0"]);
  });

  test.skipIf(!authority)("files may lie on another host, as long as it is https", async () => {
    const elsewhere = await feeds.spoiled();
    await using secure = await ReleaseHost.serve(elsewhere.dir, { authority });
    const at = (scheme: string) => (file: { readonly url: string }) => ({
      ...file,
      url: `${secure.url.replace("https", scheme)}/releases/v0.2.0/${file.url}`,
    });
    const moved = (scheme: string) =>
      feeds.offering((manifest) =>
        changeTarget(manifest, (target) => ({
          ...at(scheme)(target),
          encodings: Object.fromEntries(Object.entries(target.encodings).map(([name, file]) => [name, at(scheme)(file)])),
        })),
      );
    const feed = await moved("https");
    for (const name of BUILD_FILES) rmSync(join(feed.dir, "releases", "v0.2.0", name));
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const refused = await machine.refusal(["update", "--from", (await moved("http")).dir]);
    expect(refused.code).toBe("release_damaged");
    const { exitCode } = await machine.run(["update", "--from", feed.dir], { env: TRUSTING });
    expect([exitCode, await machine.version()]).toEqual([0, "v0.2.0"]);
  });

  test.skipIf(!authority)("https never leads to http", async () => {
    const feed = await feeds.spoiled();
    await using plain = await ReleaseHost.serve(feed.dir);
    await using secure = await ReleaseHost.serve(feed.dir, { authority, faults: [[/./, redirects((path) => `${plain.url}${path}`)]] });
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const refused = await machine.refusal(["update", "--from", secure.url], { env: TRUSTING });
    expect([refused.code, plain.requests]).toEqual(["release_insecure", []]);
    const untrusted = await machine.refusal(["update", "--from", secure.url], { env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" } });
    expect([untrusted.code, untrusted.message]).toEqual(["release_unreachable", expect.stringContaining("certificate")]);
  });
});

describe.skipIf(process.platform !== "linux")("floods", () => {
  const LEAST_MEMORY = 10 * 1024 * 1024;
  const MOST_MEMORY = 250 * 1024 * 1024;

  /**
   * The most memory that a process has had until now, in bytes; undefined when it has ended. What
   * `wait` tells of it counts its parent's too.
   */
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

  /**
   * Runs an update that must be refused, and resolves with its code and the most memory it took.
   */
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
    const feed = await feeds.spoiled();
    await using host = await ReleaseHost.serve(feed.dir);
    host.faults.push([new RegExp(`^${RegExp.escape(path)}$`), neverEnds]);
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { code, memory } = await flooded(machine, host.url);
    expect(code).toBe(path.endsWith(".minisig") ? "signature_malformed" : "release_too_large");
    expect(memory).toBeGreaterThan(LEAST_MEMORY);
    expect(memory).toBeLessThan(MOST_MEMORY);
  });

  test("binaries without end", async () => {
    const feed = await feeds.spoiled();
    await using host = await ReleaseHost.serve(feed.dir);
    host.faults.push([/v0\.2\.0\/svc-/, neverEnds]);
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { code, memory } = await flooded(machine, host.url);
    expect(code).toBe("release_too_large");
    expect(memory).toBeGreaterThan(LEAST_MEMORY);
    expect(memory).toBeLessThan(MOST_MEMORY);
    expect(machine.files()).toEqual([".svc-install.json", ".svc-update.lock", "svc", "svc-v0.1.0"]);
  });

  test.each(["zst", "gz"] as const)("a gigabyte of nothing in a small .%s that was signed", async (encoding) => {
    const bomb = await packedNothing(encoding);
    const feed = await feeds.offering((manifest) =>
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
    const feed = await feeds.spoiled();
    const bomb = await packedNothing("gz");
    await using host = await ReleaseHost.serve(feed.dir);
    host.faults.push([/index\.json$/, answers(bomb, 200, { "content-encoding": "gzip" })]);
    using machine = new InstalledMachine(built, ["v0.1.0"]);
    const { code, memory } = await flooded(machine, host.url);
    expect(code).toBe("signature_wrong");
    expect(memory).toBeGreaterThan(LEAST_MEMORY);
    expect(memory).toBeLessThan(MOST_MEMORY);
  });
});
