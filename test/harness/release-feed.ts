/**
 * Two signed releases of the sources as they are, v0.1.0 and v0.2.0, for this machine, published in a feed by `build.ts`. They are built once for all
 * test files, and again when a source changes.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { withFileLock } from "../../src/disk/lock.ts";
import { parseSecretKey, publicKeyText, type SecretKey } from "../../src/domain/release/minisign.ts";

const ROOT = join(import.meta.dir, "../..");
const DIST = join(ROOT, "dist");
const PREFIX = "test-feed-";
/** A feed of older sources may still be in use by a run that began before they changed. */
const STALE_MS = 20 * 60_000;
const SOURCES = ["src/**/*", "gen/**/*.ts", "*.{ts,json,lock,md,sh,ps1}"];

/** Versions in the feed, oldest first. */
export const FEED_VERSIONS = ["v0.1.0", "v0.2.0"] as const;

/** A feed that tests read and never change. */
export interface ReleaseFeedFolder {
  readonly path: string;
  readonly key: SecretKey;
  /** The public half, as people pass it around. */
  readonly publicKey: string;
  /** The release target of this machine. */
  readonly target: string;
}

/** The release target that this machine's own programs are of. */
export function machineTarget(): string {
  const os = process.platform === "darwin" ? "darwin" : "linux";
  const arch = process.arch === "arm64" ? "arm64" : "amd64";
  const baseline = os === "linux" && arch === "amd64" && !/\bavx2\b/.test(readFileSync("/proc/cpuinfo", "utf8"));
  return `${os}-${arch}${baseline ? "-baseline" : ""}`;
}

/** Builds the feed, or finds it built. */
export async function releaseFeed(): Promise<ReleaseFeedFolder> {
  const target = machineTarget();
  const path = join(DIST, `${PREFIX}${sourcesHash(target)}`);
  mkdirSync(DIST, { recursive: true });
  await withFileLock(join(DIST, ".test-feed.lock"), { what: "the lock of the tests' releases", timeoutMs: 120_000 }, async () => {
    if (existsSync(path)) return;
    for (const name of readdirSync(DIST))
      if (name.startsWith(PREFIX) && Date.now() - statSync(join(DIST, name)).mtimeMs > STALE_MS)
        rmSync(join(DIST, name), { recursive: true, force: true });
    await build(`${path}.building`, target);
    renameSync(`${path}.building`, path);
  });
  const key = await parseSecretKey(readFileSync(join(path, "signing.key"), "utf8"));
  return { path: join(path, "feed"), key, publicKey: publicKeyText(key.public), target };
}

async function build(folder: string, target: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const key = join(folder, "signing.key");
  await run(["--new-key", key], {});
  for (const version of FEED_VERSIONS)
    await run(
      [`--version=${version}`, `--targets=${target}`, "--level=1", `--out=${join(folder, version)}`, `--publish=${join(folder, "feed")}`],
      { SVC_SIGNING_KEY_FILE: key },
    );
  for (const version of FEED_VERSIONS) rmSync(join(folder, version), { recursive: true });
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

function sourcesHash(target: string): string {
  const hash = new Bun.CryptoHasher("sha256").update(`${Bun.version} ${target}`);
  for (const pattern of SOURCES)
    for (const file of [...new Bun.Glob(pattern).scanSync(ROOT)].sort())
      if (!file.includes("__pycache__")) hash.update(`\0${file}\0`).update(readFileSync(join(ROOT, file)));
  return hash.digest("hex").slice(0, 16);
}
