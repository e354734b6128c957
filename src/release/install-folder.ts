/**
 * The folder of installed builds: `svc-v<version>` for each of them, and `svc`, a link to the
 * current one. On Windows `svc.exe` is a copy, because links need permissions there that users
 * lack.
 */

import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { svcHome } from "../config/home.ts";
import type { Surroundings } from "../context/machine.ts";
import { fileHash } from "../disk/file-hash.ts";

/** Prefix of an update's temporary files. The next update removes those of a killed one. */
export const TEMPORARY_PREFIX = ".svc-update-";

/** The folder and the paths in it. */
export interface InstallFolder {
  readonly path: string;
  readonly receipt: string;
  /** The link, or on Windows the copy, that users run. */
  readonly link: string;
  /** The running executable, links followed. */
  readonly running: string;
  readonly windows: boolean;
}

/** The receipt: a file about the installation, beside the builds. */
export interface Receipt {
  /** Host or folder that the installation came from. */
  readonly source?: string;
  /** Name of the release target. */
  readonly target?: string;
  /** Versions in the order in which they became current, without the current one. */
  readonly history?: readonly string[];
}

/** An installed build. */
export interface InstalledBuild {
  readonly version: string;
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** When it was written here, RFC 3339 in UTC. */
  readonly installed_at: string;
  readonly current: boolean;
}

/** The folder of the running executable when that is an installed build; else `$SVC_HOME/bin`. */
export function installFolder(surroundings: Pick<Surroundings, "env" | "homeDir" | "execPath" | "platform">): InstallFolder {
  const windows = surroundings.platform === "win32";
  const running = realPath(surroundings.execPath);
  const beside = dirname(running);
  const installed = isInstalled(beside, basename(running), windows);
  const path = installed ? beside : join(svcHome(surroundings), "bin");
  return {
    path,
    receipt: join(path, ".svc-install.json"),
    link: join(path, windows ? "svc.exe" : "svc"),
    running,
    windows,
  };
}

/** Path of a version's build in the folder. */
export function buildPath(folder: InstallFolder, version: string): string {
  return join(folder.path, `svc-${version}${folder.windows ? ".exe" : ""}`);
}

/** The receipt; empty when it is missing or damaged. */
export function readReceipt(folder: string): Receipt {
  try {
    const found: unknown = JSON.parse(readFileSync(join(folder, ".svc-install.json"), "utf8"));
    if (found === null || typeof found !== "object") return {};
    const { source, target, history } = found as Record<string, unknown>;
    return {
      ...(typeof source === "string" ? { source } : {}),
      ...(typeof target === "string" ? { target } : {}),
      ...(Array.isArray(history) ? { history: history.filter((version) => typeof version === "string") } : {}),
    };
  } catch {
    return {};
  }
}

/** Every build in the folder, newest version first. */
export async function installedBuilds(folder: InstallFolder): Promise<readonly InstalledBuild[]> {
  const current = await currentVersion(folder);
  return versionsIn(folder)
    .map((version) => {
      const path = buildPath(folder, version);
      const { size, mtime } = statSync(path);
      return { version, path, size, installed_at: mtime.toISOString(), current: version === current };
    })
    .sort((a, b) => Bun.semver.order(b.version, a.version));
}

/** The version that `svc` runs; undefined when no build of the folder is current. */
export async function currentVersion(folder: InstallFolder): Promise<string | undefined> {
  try {
    if (!folder.windows) return versionOf(basename(readlinkSync(folder.link)), false);
    const { size } = statSync(folder.link);
    const same = versionsIn(folder).filter((version) => statSync(buildPath(folder, version)).size === size);
    if (same.length === 0) return undefined;
    const wanted = await fileHash(folder.link);
    for (const version of same) if ((await fileHash(buildPath(folder, version))) === wanted) return version;
  } catch {
    return undefined;
  }
  return undefined;
}

/**
 * The build to roll back to: the one that was current before, if it still exists; else the newest
 * older one.
 * @param current version that is current
 */
export function previousVersion(folder: InstallFolder, current: string | undefined): string | undefined {
  const there = versionsIn(folder).filter((version) => version !== current);
  const remembered = (readReceipt(folder.path).history ?? []).findLast((version) => there.includes(version));
  if (remembered !== undefined || current === undefined) return remembered;
  return there
    .filter((version) => Bun.semver.order(version, current) < 0)
    .sort(Bun.semver.order)
    .at(-1);
}

function versionsIn(folder: InstallFolder): string[] {
  try {
    return readdirSync(folder.path, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => versionOf(name, folder.windows))
      .filter((version) => version !== undefined);
  } catch {
    return [];
  }
}

function versionOf(name: string, windows: boolean): string | undefined {
  const [, version, extension] = /^svc-(v\d+\.\d+\.\d+)(\.exe)?$/.exec(name) ?? [];
  return (extension !== undefined) === windows ? version : undefined;
}

function isInstalled(folder: string, name: string, windows: boolean): boolean {
  if (windows ? name.toLowerCase() !== "svc.exe" && versionOf(name, true) === undefined : versionOf(name, false) === undefined)
    return false;
  try {
    return lstatSync(join(folder, windows ? ".svc-install.json" : "svc")).isFile() === windows;
  } catch {
    return false;
  }
}

/** The path with links followed; unchanged when it does not exist. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
