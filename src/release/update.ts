/**
 * Changes of the current build: installing one, rolling back, removing old ones. Only one process
 * at a time makes them.
 */

import { existsSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { buildInfo } from "../build-info.ts";
import { createWireFetch } from "../client/fetch.ts";
import { createProxies } from "../client/proxy.ts";
import { createRedactor } from "../client/redact.ts";
import { createCommandRetries } from "../client/retry.ts";
import type { Context } from "../context/context.ts";
import { systemCode } from "../disk/disk-error.ts";
import { withFileLock } from "../disk/lock.ts";
import type { ReleaseBinary, ReleaseManifest } from "../domain/release/manifest.ts";
import { sizeText } from "../domain/size.ts";
import { type FoundRelease, findLatest, findVersion } from "./catalog.ts";
import {
  buildPath,
  currentVersion,
  type InstalledBuild,
  type InstallFolder,
  installedBuilds,
  installFolder,
  previousVersion,
  readReceipt,
  realPath,
} from "./install-folder.ts";
import { refuseManaged } from "./managed-install.ts";
import { isBinary, type Method, obtainBuild } from "./obtain-build.ts";
import { requireOrigin } from "./origin.ts";
import { ReleaseError } from "./release-error.ts";
import { type ReleaseFiles, releaseFiles } from "./release-files.ts";
import type { CurrentBuild } from "./releases.ts";
import { trustedKey } from "./signed-document.ts";
import { placeBuild, removeIfPossible, removeTemporaryFiles, switchTo } from "./switch-build.ts";
import { type BuildFacts, tryBuild } from "./trial-run.ts";

/** The parts of the context that releases need. */
export type ReleaseHost = Pick<Context, "flags" | "surroundings" | "clock" | "progress" | "signal">;

/** Longest wait for another update, and the wait after which a message is shown. */
const LOCK_TIMEOUT_MS = 15 * 60 * 1000;
const QUIET_WAIT_MS = 500;
const PROGRESS_MS = 100;

/** The files of the configured origin. `stallMs` is the longest wait without a byte. */
export function openOrigin(host: ReleaseHost, from: string | undefined, stallMs?: number): ReleaseFiles {
  const redactor = createRedactor();
  return releaseFiles({
    origin: requireOrigin(from, host.surroundings, host.flags.dir),
    fetch: createWireFetch(host, { redactor, proxies: createProxies(host.surroundings.env) }),
    retry: createCommandRetries(host, redactor),
    stallMs,
  });
}

/** Installs a version, by default the latest, and makes it current. Throws ReleaseError. */
export async function update(host: ReleaseHost, options: { readonly version?: string; readonly from?: string }): Promise<CurrentBuild> {
  const folder = installFolder(host.surroundings);
  refuseManaged(folder.running);
  trustedKey();
  return withUpdateLock(host, folder, async () => {
    const before = await currentVersion(folder);
    const found = await findRelease(host, folder, options);
    if (found === "installed") return switchInstalled(host, folder, options.version ?? "", before);
    const { files, release } = found;
    const { version } = release.manifest;
    if (options.version === undefined) refuseDowngrade(version, before ?? buildInfo.version);
    refuseTooOld(release.manifest);
    const target = targetOf(folder);
    const { facts, method, bytes } = await ensureInstalled(host, folder, files, release, binaryFor(release.manifest, target));
    if (before !== version) await switchTo(folder, version, { source: files.origin.base, target });
    return outcome(host, folder, facts, { before, changed: before !== version || method !== "kept", method, bytes });
  });
}

/** Ensures that the release's build is in the folder and runs; does not make it current. */
async function ensureInstalled(
  host: ReleaseHost,
  folder: InstallFolder,
  files: ReleaseFiles,
  { manifest: { version }, folder: at }: FoundRelease,
  binary: ReleaseBinary,
): Promise<{ readonly facts: BuildFacts; readonly method: Method; readonly bytes: number }> {
  const { progress, signal, clock, surroundings } = host;
  const path = buildPath(folder, version);
  if (await isBinary(path, binary)) return { facts: await tryBuild(path, version, surroundings.env, signal), method: "kept", bytes: 0 };
  const obtained = await progress.step(`Downloading svc ${version}`, (say) => {
    let last = 0;
    return obtainBuild({
      files,
      folder: at,
      binary,
      version,
      into: folder,
      onFallback: (why) => progress.verbose(why),
      onProgress: (done, of) => {
        signal.throwIfAborted();
        if (clock.now() - last < PROGRESS_MS && done < of) return;
        last = clock.now();
        say(`${sizeText(done)} of ${sizeText(of)}`);
      },
    });
  });
  try {
    const facts = await tryBuild(obtained.path, version, surroundings.env, signal);
    placeBuild(folder, obtained.path, version);
    return { facts, method: obtained.method, bytes: obtained.bytes };
  } finally {
    removeIfPossible(obtained.path);
  }
}

/** Makes the build current that was current before. Throws ReleaseError. */
export async function rollback(host: ReleaseHost): Promise<CurrentBuild> {
  const folder = installFolder(host.surroundings);
  refuseManaged(folder.running);
  return withUpdateLock(host, folder, async () => {
    const before = await currentVersion(folder);
    const version = previousVersion(folder, before);
    if (version === undefined) {
      throw new ReleaseError(`there is no build in ${folder.path} to go back to`, "no_previous_build", {
        hint: "`svc update --list` shows the builds that are there; `svc update --version v1.2.3` installs another one.",
      });
    }
    return switchInstalled(host, folder, version, before);
  });
}

/** Builds that are neither current, nor the one to roll back to, nor running now. */
export async function prunableBuilds(host: ReleaseHost): Promise<readonly InstalledBuild[]> {
  const folder = installFolder(host.surroundings);
  const builds = await installedBuilds(folder);
  const current = builds.find((build) => build.current)?.version;
  if (current === undefined) return [];
  const previous = previousVersion(folder, current);
  return builds.filter(({ version, path }) => version !== current && version !== previous && path !== folder.running);
}

/** Removes builds that are still prunable. Resolves with the removed ones. */
export async function pruneBuilds(host: ReleaseHost, builds: readonly InstalledBuild[]): Promise<readonly InstalledBuild[]> {
  const folder = installFolder(host.surroundings);
  return withUpdateLock(host, folder, async () => {
    const free = new Set((await prunableBuilds(host)).map(({ version }) => version));
    const removed = builds.filter(({ version }) => free.has(version));
    for (const { path } of removed) unlinkSync(path);
    return removed;
  });
}

async function findRelease(
  host: ReleaseHost,
  folder: InstallFolder,
  { version, from }: { readonly version?: string; readonly from?: string },
): Promise<{ readonly files: ReleaseFiles; readonly release: FoundRelease } | "installed"> {
  try {
    const files = openOrigin(host, from);
    const what = version === undefined ? "the latest release" : `release ${version}`;
    host.progress.verbose(`looking for ${what} at ${files.origin.base}`);
    return { files, release: await (version === undefined ? findLatest(files, host.clock.now()) : findVersion(files, version)) };
  } catch (error) {
    const offline = error instanceof ReleaseError && ["release_unreachable", "release_no_source"].includes(error.code);
    if (!offline || version === undefined || !existsSync(buildPath(folder, version))) throw error;
    host.progress.note(`${error.message}; the ${version} that is installed is taken`);
    return "installed";
  }
}

async function switchInstalled(
  host: ReleaseHost,
  folder: InstallFolder,
  version: string,
  before: string | undefined,
): Promise<CurrentBuild> {
  const facts = await tryBuild(buildPath(folder, version), version, host.surroundings.env, host.signal);
  if (before !== version) await switchTo(folder, version, {});
  return outcome(host, folder, facts, { before, changed: before !== version, method: "kept", bytes: 0 });
}

function targetOf(folder: InstallFolder): string {
  return buildInfo.target || readReceipt(folder.path).target || "";
}

function outcome(
  host: ReleaseHost,
  folder: InstallFolder,
  facts: BuildFacts,
  { before, changed, method, bytes }: { before: string | undefined; changed: boolean; method: Method; bytes: number },
): CurrentBuild {
  const [os = "", arch = ""] = facts.platform.split("-");
  return {
    ...facts,
    os,
    arch,
    path: buildPath(folder, facts.version),
    link: folder.link,
    found_on_path: foundOnPath(host, folder),
    changed,
    previous: before ?? null,
    method,
    downloaded_bytes: bytes,
  };
}

function foundOnPath({ surroundings }: ReleaseHost, { link, windows }: InstallFolder): string | null {
  const found = Bun.which("svc", { PATH: surroundings.env.PATH ?? "" });
  const comparable = (path: string) => (windows ? realPath(path).toLowerCase() : realPath(path));
  return found !== null && comparable(found) === comparable(link) ? link : found;
}

function refuseDowngrade(version: string, current: string): void {
  if (Bun.semver.order(version, current) >= 0) return;
  throw new ReleaseError(`the latest release there is ${version}, which is older than ${current}`, "release_downgrade", {
    hint: `To go back on purpose: \`svc update --version ${version}\`.`,
  });
}

function refuseTooOld({ version, min_version }: ReleaseManifest): void {
  if (Bun.semver.order(buildInfo.version, min_version) >= 0) return;
  throw new ReleaseError(`${buildInfo.version} cannot update itself to ${version}: that takes ${min_version} or newer`, "release_too_old", {
    hint: `Update to ${min_version} first (\`svc update --version ${min_version}\`), or run the installer.`,
  });
}

function binaryFor({ version, targets }: ReleaseManifest, target: string) {
  const binary = target === "" || !Object.hasOwn(targets, target) ? undefined : targets[target];
  if (binary) return binary;
  const machine = target === "" ? "this build does not say which machine it is for" : `release ${version} has no build for ${target}`;
  throw new ReleaseError(machine, "release_target_missing", { hint: `The release has builds for ${Object.keys(targets).join(", ")}.` });
}

/**
 * Runs `work` as the only update of the folder, after removing the files of killed ones. Errors say
 * why the folder cannot be written.
 */
async function withUpdateLock<T>(host: ReleaseHost, folder: InstallFolder, work: () => Promise<T>): Promise<T> {
  try {
    return await locked(host, join(folder.path, ".svc-update.lock"), async () => {
      removeTemporaryFiles(folder);
      return work();
    });
  } catch (error) {
    const codes = [systemCode(error), error instanceof Error ? systemCode(error.cause) : undefined];
    const is = (...some: string[]) => some.some((prefix) => codes.some((code) => code?.startsWith(prefix)));
    if (error instanceof ReleaseError) throw error;
    if (is("ENOSPC", "EDQUOT"))
      throw new ReleaseError(`there is no space left for a new build in ${folder.path}`, "disk_full", { cause: error });
    if (!is("EACCES", "EPERM", "EROFS", "SQLITE_READONLY", "SQLITE_CANTOPEN")) throw error;
    throw new ReleaseError(`${folder.path} cannot be written`, "directory_read_only", {
      hint: "Update as the one who owns it, or install a copy of your own: the installer takes --dir.",
      cause: error,
    });
  }
}

async function locked<T>(host: ReleaseHost, path: string, work: () => Promise<T>): Promise<T> {
  const waiting = setTimeout(() => host.progress.note("Another update is running; this one waits for it."), QUIET_WAIT_MS);
  try {
    return await withFileLock(path, { what: "the lock of updates", signal: host.signal, timeoutMs: LOCK_TIMEOUT_MS }, () => {
      clearTimeout(waiting);
      return work();
    });
  } finally {
    clearTimeout(waiting);
  }
}
