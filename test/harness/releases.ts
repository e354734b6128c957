/**
 * Releases for tests: three real versions of svc, built once for all test files and kept with the binary they were built beside; small ones made of shell
 * scripts, where what counts is not the binary but what surrounds it.
 */

import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { withFileLock } from "../../src/disk/lock.ts";
import type { ReleaseBinary, ReleaseFeed, ReleaseManifest } from "../../src/domain/release/manifest.ts";
import { createSecretKey, parseSecretKey, type SecretKey, secretKeyText, sign } from "../../src/domain/release/minisign.ts";
import { type SignedThing, trustedComment } from "../../src/domain/release/trusted-comment.ts";
import { BINARY } from "./sandbox.ts";

const ROOT = join(import.meta.dir, "../..");
const KEPT = join(ROOT, "dist", "test-releases");

/** The versions that are built. */
export const VERSIONS = ["v0.1.0", "v0.2.0", "v0.3.0"] as const;

/** Release target of this machine. */
export const TARGET = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;

/** A feed and the key that signs it. */
export interface TestFeed {
  readonly dir: string;
  readonly key: SecretKey;
}

/**
 * A feed of v0.1.0, v0.2.0 with a delta from it, and v0.3.0 with a delta from that, as `build.ts` makes it: for this machine, or another target. Not to be
 * changed: see `copyFeed`.
 */
export async function builtFeed(target = TARGET): Promise<TestFeed> {
  mkdirSync(KEPT, { recursive: true });
  return withFileLock(join(KEPT, ".lock"), { what: "the releases of the tests", timeoutMs: 120_000 }, async () => {
    const hash = new Bun.CryptoHasher("sha256").update(readFileSync(BINARY)).digest("hex").slice(0, 16);
    const home = join(KEPT, hash, target);
    const dir = join(home, "feed");
    const keyFile = join(home, "signing.key");
    if (!existsSync(join(home, "done"))) {
      for (const name of readdirSync(KEPT))
        if (!name.startsWith(".") && name !== hash) rmSync(join(KEPT, name), { recursive: true, force: true });
      rmSync(home, { recursive: true, force: true });
      mkdirSync(home, { recursive: true });
      writeFileSync(keyFile, secretKeyText(await createSecretKey()), { mode: 0o600 });
      for (const [index, version] of VERSIONS.entries()) {
        const before = VERSIONS[index - 1];
        const built = Bun.spawnSync(
          [
            process.execPath,
            "build.ts",
            `--targets=${target}`,
            `--version=${version}`,
            "--level=1",
            `--out=${join(home, version)}`,
            `--publish=${dir}`,
            ...(before ? [`--deltas-from=${join(home, before)}`] : []),
          ],
          { cwd: ROOT, env: { ...process.env, SVC_SIGNING_KEY: undefined, SVC_SIGNING_KEY_FILE: keyFile } },
        );
        if (!built.success) throw new Error(`${version} was not built: ${built.stderr}`);
      }
      for (const version of VERSIONS) rmSync(join(home, version), { recursive: true });
      writeFileSync(join(home, "done"), "");
    }
    return { dir, key: await parseSecretKey(readFileSync(keyFile, "utf8")) };
  });
}

/** A feed of one's own with the same files, to be changed: documents are copies, binaries are links. */
export function copyFeed(feed: TestFeed, dir: string): TestFeed {
  for (const entry of readdirSync(feed.dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const from = join(entry.parentPath, entry.name);
    const to = join(dir, from.slice(feed.dir.length));
    mkdirSync(dirname(to), { recursive: true });
    linkOrCopy(from, to);
  }
  return { dir, key: feed.key };
}

/** A second name for a file; a copy where there can be none. */
export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** Writes a document with its signature. The comment can be made to lie. */
export async function writeSigned(
  path: string,
  what: SignedThing,
  document: ReleaseFeed | ReleaseManifest,
  key: SecretKey,
  lie: { readonly what?: SignedThing; readonly version?: string; readonly expiresAt?: string } = {},
): Promise<void> {
  const version = "latest" in document ? document.latest : document.version;
  const text = `${JSON.stringify(document, null, 2)}\n`;
  const comment = trustedComment({ what, version, expiresAt: document.expires_at, ...lie });
  const signature = await sign(Buffer.from(text), key, comment);
  mkdirSync(dirname(path), { recursive: true });
  for (const [file, content] of [
    [path, text],
    [`${path}.minisig`, signature],
  ] as const) {
    rmSync(file, { force: true });
    writeFileSync(file, content);
  }
}

/** Reads a document of a feed. */
export function readDocument<T extends ReleaseFeed | ReleaseManifest>(path: string): T {
  return JSON.parse(readFileSync(path, "utf8")) as T;
}

/** A build that does nothing but say which version it is: a shell script. */
export function scriptBuild(version: string, body = ""): Buffer {
  const facts = JSON.stringify({ version, platform: "test-machine", hash: "0".repeat(40), build_time: "2026-01-01T00:00:00Z" });
  return Buffer.from(
    `#!/bin/sh\n${body}\ncase "$*" in *--json*) echo '${facts}' ;; *) echo ${version} ;; esac\n${"# filling\n".repeat(400)}`,
  );
}

const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/** Adds a small release to a feed, and makes it the latest. `change` may spoil the manifest before it is signed. */
export async function addSmallRelease(
  feed: TestFeed,
  version: string,
  options: {
    readonly build?: Uint8Array;
    readonly change?: (manifest: ReleaseManifest) => ReleaseManifest;
    readonly expiresAt?: string;
  } = {},
): Promise<void> {
  const expires_at = options.expiresAt ?? "2199-01-01T00:00:00Z";
  const folder = join(feed.dir, "releases", version);
  mkdirSync(folder, { recursive: true });
  const build = options.build ?? scriptBuild(version);
  const file = (name: string, bytes: Uint8Array) => {
    writeFileSync(join(folder, name), bytes);
    return { url: name, sha256: sha256(bytes), size: bytes.length };
  };
  const name = `svc-${TARGET}`;
  const binary: ReleaseBinary = {
    ...file(name, build),
    encodings: { zst: file(`${name}.zst`, zstdCompressSync(build)), gz: file(`${name}.gz`, gzipSync(build)) },
    deltas: [],
  };
  const manifest: ReleaseManifest = {
    format: 1,
    version,
    commit: "0".repeat(40),
    built_at: "2026-01-01T00:00:00Z",
    expires_at,
    min_version: "v0.1.0",
    targets: { [TARGET]: binary },
  };
  await writeSigned(join(folder, "manifest.json"), "manifest", options.change?.(manifest) ?? manifest, feed.key);
  const index = join(feed.dir, "index.json");
  const known = existsSync(index) ? readDocument<ReleaseFeed>(index).releases : [];
  const entry = {
    version,
    component: "svc",
    published_at: "2026-01-01T00:00:00Z",
    notes: `What is new in **${version}**.`,
    manifest: `releases/${version}/manifest.json`,
  };
  const releases = [entry, ...known.filter((one) => one.version !== version)];
  await writeSigned(index, "index", { format: 1, latest: version, expires_at, releases }, feed.key);
}

/** An empty feed signed by the key of `feed`. */
export function emptyFeed({ key }: TestFeed, dir: string): TestFeed {
  mkdirSync(dir, { recursive: true });
  return { dir, key };
}
