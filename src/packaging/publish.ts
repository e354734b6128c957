/**
 * Adding a release to a feed: a folder that any static file server can serve. Readers never see an
 * incomplete release.
 */

import { chmod, copyFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DiskError } from "../disk/disk-error.ts";
import { withFileLock } from "../disk/lock.ts";
import { changelogEntries } from "../domain/release/changelog.ts";
import { parseFeed, type ReleaseEntry, type ReleaseFeed, ReleaseFormatError } from "../domain/release/manifest.ts";
import { type SecretKey, SignatureError, verify } from "../domain/release/minisign.ts";
import { addFolder, replaceFolder } from "./folder-swap.ts";
import { INSTALL_SCRIPTS } from "./install-scripts.ts";
import { PackagingError } from "./packaging-error.ts";
import { MANIFEST, readRelease, SUMS, signStatements } from "./release.ts";
import { writeSigned } from "./signed-file.ts";

/** The release to publish, and its feed. */
export interface PublishOptions {
  /** Folder of the sources, for the changelog. */
  readonly root: string;
  /** Folder of the release. */
  readonly release: string;
  readonly feed: string;
  readonly key: SecretKey;
  /** Time of publication: RFC 3339, UTC. */
  readonly now: string;
  /** RFC 3339, UTC. */
  readonly expiresAt: string;
}

/** File of the feed's index. */
export const INDEX = "index.json";

/**
 * Adds the release: first its folder, made under another name and renamed; then `latest`; then the
 * index that lists it. The newest version is the latest, whatever the order of publishing. A
 * version that exists already stays as it is; publishing it again is allowed only with the same
 * files. Throws PackagingError.
 */
export function publish(order: PublishOptions): Promise<ReleaseFeed> {
  return withFeedLock(order.feed, () => add(order));
}

async function add({ root, release, feed, key, now, expiresAt }: PublishOptions): Promise<ReleaseFeed> {
  const manifest = await readRelease(release);
  const { version } = manifest;
  const before = await readFeed(feed, key);
  const changelog = await readFile(join(root, "CHANGELOG.md"), "utf8");
  const notes = new Map(changelogEntries(changelog).map((one) => [one.version.toLowerCase(), one.notes]));
  const entry: ReleaseEntry = {
    version,
    component: "svc",
    published_at: before?.releases.find((one) => one.version === version)?.published_at ?? now,
    notes: notes.get(version) ?? notes.get("unreleased") ?? "",
    manifest: `releases/${version}/${MANIFEST}`,
  };
  const others = (before?.releases ?? []).filter((one) => one.version !== version);
  const releases = [entry, ...others.map((one) => ({ ...one, notes: notes.get(one.version) ?? one.notes }))].sort((a, b) =>
    Bun.semver.order(b.version.slice(1), a.version.slice(1)),
  );
  const latest = releases[0]?.version ?? version;
  const folder = join(feed, "releases", version);
  await addRelease(release, folder);
  if (latest === version) {
    await replaceFolder(folder, join(feed, "latest"), "linked");
    for (const name of INSTALL_SCRIPTS) await copyWhole(join(release, name), join(feed, name));
  }
  await writeFile(join(feed, "changelog.md.new"), changelog);
  await rename(join(feed, "changelog.md.new"), join(feed, "changelog.md"));
  const index: ReleaseFeed = { format: 1, latest, expires_at: expiresAt, releases };
  await writeIndex(feed, index, key);
  return index;
}

/** The feed to sign again, with key and expiry. */
export interface RenewOptions {
  readonly feed: string;
  readonly key: SecretKey;
  /** RFC 3339, UTC. */
  readonly expiresAt: string;
}

/**
 * Signs a feed's statements about its latest release again, with a later expiry: the release's
 * manifest and sums, `latest`, and the index. Binaries and the content of the sums do not change.
 * Throws PackagingError.
 */
export async function renew(order: RenewOptions): Promise<ReleaseFeed> {
  if (!(await Bun.file(join(order.feed, INDEX)).exists())) throw new PackagingError(`${order.feed} is no feed: it has no ${INDEX}`);
  return withFeedLock(order.feed, () => signAnew(order));
}

async function signAnew({ feed, key, expiresAt }: RenewOptions): Promise<ReleaseFeed> {
  const before = await readFeed(feed, key);
  if (!before) throw new PackagingError(`${feed} has lost its ${INDEX}`);
  const folder = join(feed, "releases", before.latest);
  await checkSigned(join(folder, MANIFEST), key);
  await checkSigned(join(folder, SUMS), key);
  const manifest = { ...(await readRelease(folder)), expires_at: expiresAt };
  await replaceFolder(folder, folder, "linked", (dir) => signStatements(dir, manifest, key));
  await replaceFolder(folder, join(feed, "latest"), "linked");
  const index = { ...before, expires_at: expiresAt };
  await writeIndex(feed, index, key);
  return index;
}

/**
 * File that is locked while the feed changes. It stays there, empty, and as readable as the other
 * files, so that copying a feed does not fail.
 */
const LOCK = ".publishing.lock";
const LOCK_TIMEOUT_MS = 15 * 60 * 1000;

/** Runs `work` while no other process changes the feed; waits for those that do. */
async function withFeedLock<T>(feed: string, work: () => Promise<T>): Promise<T> {
  await mkdir(feed, { recursive: true });
  try {
    return await withFileLock(join(feed, LOCK), { what: `the feed ${feed}`, timeoutMs: LOCK_TIMEOUT_MS }, async () => {
      await chmod(join(feed, LOCK), 0o644);
      return work();
    });
  } catch (error) {
    throw error instanceof DiskError ? new PackagingError(error.message) : error;
  }
}

/**
 * The index of a feed, verified with the key that will sign it again; undefined when there is none
 * yet. Throws PackagingError.
 */
export async function readFeed(feed: string, key: SecretKey): Promise<ReleaseFeed | undefined> {
  const path = join(feed, INDEX);
  if (!(await Bun.file(path).exists())) return undefined;
  try {
    return parseFeed(await checkSigned(path, key));
  } catch (error) {
    if (error instanceof ReleaseFormatError) throw new PackagingError(`${path}: ${error.message}`);
    throw error;
  }
}

async function checkSigned(path: string, key: SecretKey): Promise<string> {
  const text = await readFile(path, "utf8");
  try {
    await verify(Buffer.from(text), await readFile(`${path}.minisig`, "utf8"), key.public);
    return text;
  } catch (error) {
    if (error instanceof SignatureError && error.code === "signature_unknown_key")
      throw new PackagingError(
        `the feed belongs to another key: ${path}: ${error.message}; sign with the feed's key, or publish in a new folder`,
      );
    if (error instanceof SignatureError) throw new PackagingError(`${path}: ${error.message}`);
    throw error;
  }
}

async function writeIndex(feed: string, index: ReleaseFeed, key: SecretKey): Promise<void> {
  const comment = { what: "index", version: index.latest, expiresAt: index.expires_at } as const;
  await writeSigned(join(feed, INDEX), `${JSON.stringify(index, null, 2)}\n`, key, comment);
}

async function addRelease(release: string, folder: string): Promise<void> {
  const [have, wanted] = await Promise.all([
    readFile(join(folder, SUMS), "utf8").catch(() => undefined),
    readFile(join(release, SUMS), "utf8"),
  ]);
  if (have === undefined) return addFolder(release, folder, "copied");
  if (have !== wanted)
    throw new PackagingError(`${folder} is published already, with other files: a release never changes; give this one a new version`);
}

async function copyWhole(source: string, path: string): Promise<void> {
  await copyFile(source, `${path}.new`);
  await rename(`${path}.new`, path);
}
