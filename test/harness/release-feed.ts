/**
 * Three signed releases of the current sources, each with a delta from the one before it, published
 * in a feed by `build.ts`. They are built once for all test files and again when a source changes;
 * outdated ones are removed once no process uses them.
 */

import { Database } from "bun:sqlite";
import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { withFileLock } from "../../src/disk/lock.ts";
import { parseSecretKey, publicKeyText, type SecretKey } from "../../src/domain/release/minisign.ts";
import { programPath } from "./needs.ts";

const ROOT = join(import.meta.dir, "../..");
const DIST = join(ROOT, "dist");
const PREFIX = "test-feed-";
/** Longest wait for other files' releases: as long as the runner lets a file take. */
const LOCK_MS = 1_200_000;
const SOURCES = ["src/**/*", "gen/**/*.ts", "*.{ts,json,lock,md,sh,ps1}"];

/** Whether `zstd` is installed, which makes the deltas. */
const HAS_ZSTD = programPath("zstd") !== undefined;

/** Versions in the feed, oldest first. */
export const VERSIONS = ["v0.1.0", "v0.2.0", "v0.3.0"] as const;

/** The release target of this machine. */
export const TARGET = machineTarget();

/** A feed and the key that signs it. */
export interface TestFeed {
  readonly dir: string;
  readonly key: SecretKey;
}

/** A feed that tests read and never change: see `copyFeed`. */
export interface BuiltFeed extends TestFeed {
  /** The public key, in the form in which it is published. */
  readonly publicKey: string;
  /** The release target that it has builds for. */
  readonly target: string;
}

function machineTarget(): string {
  const os = process.platform === "win32" ? "windows" : process.platform;
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const baseline = os === "linux" && arch === "amd64" && !/\bavx2\b/.test(readFileSync("/proc/cpuinfo", "utf8"));
  return `${os}-${arch}${baseline ? "-baseline" : ""}`;
}

/**
 * The feed for a target, built unless it exists; without deltas where there is no zstd. It exists
 * until this process ends.
 */
export async function builtFeed(target = TARGET): Promise<BuiltFeed> {
  const sources = sourcesHash();
  const path = join(DIST, `${PREFIX}${sources}-${target}`);
  mkdirSync(DIST, { recursive: true });
  await withFileLock(join(DIST, ".test-feed.lock"), { what: "the lock of the tests' releases", timeoutMs: LOCK_MS }, async () => {
    if (!existsSync(path)) {
      for (const name of readdirSync(DIST))
        if (name.startsWith(PREFIX) && !name.startsWith(`${PREFIX}${sources}`)) removeUnlessUsed(join(DIST, name));
      await build(`${path}.building`, target);
      renameSync(`${path}.building`, path);
    }
    use(path);
  });
  const key = await parseSecretKey(readFileSync(join(path, "signing.key"), "utf8"));
  return { dir: join(path, "feed"), key, publicKey: publicKeyText(key.public), target };
}

/**
 * Feeds that this process uses: a read lock on a file of each, released however the process ends.
 */
const used = new Map<string, Database>();

function use(path: string): void {
  if (used.has(path)) return;
  const users = new Database(join(path, "users"));
  users.run("BEGIN");
  users.query("SELECT count(*) FROM sqlite_schema").get();
  used.set(path, users);
}

function removeUnlessUsed(path: string): void {
  const users = new Database(join(path, "users"));
  try {
    users.run("PRAGMA busy_timeout = 0");
    users.run("BEGIN EXCLUSIVE");
  } catch (error) {
    if (error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY")) return;
    throw error;
  } finally {
    users.close();
  }
  rmSync(path, { recursive: true, force: true });
}

async function build(folder: string, target: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const key = join(folder, "signing.key");
  await run(["--new-key", key], {});
  for (const [index, version] of VERSIONS.entries()) {
    const before = VERSIONS[index - 1];
    const deltas = before && HAS_ZSTD ? [`--deltas-from=${join(folder, before)}`] : [];
    const words = [`--version=${version}`, `--targets=${target}`, "--level=1", "--without-tables", `--out=${join(folder, version)}`];
    await run([...words, ...deltas, `--publish=${join(folder, "feed")}`], { SVC_SIGNING_KEY_FILE: key });
  }
  for (const version of VERSIONS) rmSync(join(folder, version), { recursive: true });
}

async function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
  const child = Bun.spawn([process.execPath, "build.ts", ...args], {
    cwd: ROOT,
    env: { ...process.env, SVC_SIGNING_KEY: undefined, ...env },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const stderr = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`build.ts ${args.join(" ")}: ${stderr}`);
}

function sourcesHash(): string {
  const hash = new Bun.CryptoHasher("sha256").update(`${Bun.version} ${HAS_ZSTD}`);
  for (const pattern of SOURCES)
    for (const file of [...new Bun.Glob(pattern).scanSync(ROOT)].sort())
      if (!file.includes("__pycache__")) hash.update(`\0${file}\0`).update(readFileSync(join(ROOT, file)));
  return hash.digest("hex").slice(0, 16);
}

/**
 * A private copy of a feed, to be changed. Its files are links: replace a file and never write into
 * it.
 */
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
