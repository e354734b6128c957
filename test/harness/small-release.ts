/**
 * Small signed releases with shell scripts as binaries, for tests of everything around the binary;
 * and the documents of a feed, read, written and signed.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import type { ReleaseBinary, ReleaseFeed, ReleaseManifest } from "../../src/domain/release/manifest.ts";
import { type SecretKey, sign } from "../../src/domain/release/minisign.ts";
import { type SignedThing, trustedComment } from "../../src/domain/release/trusted-comment.ts";
import { TARGET, type TestFeed } from "./release-feed.ts";

/** Writes a document with its signature. A test can give a false comment. */
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

/** A build that only prints its version: a shell script. */
export function scriptBuild(version: string, body = ""): Buffer {
  const facts = JSON.stringify({ version, platform: "test-machine", hash: "0".repeat(40), build_time: "2026-01-01T00:00:00Z" });
  return Buffer.from(
    `#!/bin/sh\n${body}\ncase "$*" in *--json*) echo '${facts}' ;; *) echo ${version} ;; esac\n${"# filling\n".repeat(400)}`,
  );
}

const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/**
 * Adds a small release to a feed, and makes it the latest. `change` may corrupt the manifest before
 * it is signed.
 */
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

/** The files of a small release that hold its build. */
export const BUILD_FILES = [`svc-${TARGET}`, `svc-${TARGET}.zst`, `svc-${TARGET}.gz`] as const;

/** A manifest with changed entries of this machine's build. */
export function changeTarget(manifest: ReleaseManifest, change: (target: ReleaseBinary) => object): ReleaseManifest {
  const target = manifest.targets[TARGET];
  if (!target) throw new Error(`the manifest has no build for ${TARGET}`);
  return { ...manifest, targets: { [TARGET]: { ...target, ...change(target) } } };
}

/** Feeds in their own folder, signed by the key of a feed, each with one fault. */
export class SmallFeeds implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), "svc-feeds-"));

  constructor(private readonly signer: TestFeed) {}

  /** A feed without a release. */
  empty(): TestFeed {
    const dir = mkdtempSync(join(this.root, "feed-"));
    return { dir, key: this.signer.key };
  }

  /** A feed that offers v0.2.0, corrupted. */
  async spoiled(spoil: (feed: TestFeed) => void | Promise<void> = () => {}): Promise<TestFeed> {
    const feed = this.empty();
    await addSmallRelease(feed, "v0.2.0");
    await spoil(feed);
    return feed;
  }

  /** A feed whose v0.2.0 has a changed manifest. */
  async offering(change: (manifest: ReleaseManifest) => ReleaseManifest, build?: Uint8Array): Promise<TestFeed> {
    const feed = this.empty();
    await addSmallRelease(feed, "v0.2.0", { change, build });
    return feed;
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
