/** Skills in the folder in which a coding agent reads them. */

import { lstat, readdir, realpath, rmdir, unlink } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import type { Machine } from "../context/machine.ts";
import { systemCode } from "../disk/disk-error.ts";
import { readRegularFile } from "../disk/regular-file.ts";
import { CliError } from "../errors/cli-error.ts";
import type { Skill } from "./skill.ts";

/** What became of a file. */
export interface PlacedFile {
  readonly skill: string;
  /** Absolute. */
  readonly path: string;
  readonly outcome: "installed" | "updated" | "unchanged" | "removed" | "absent";
}

/** A folder of skills. */
export interface SkillFolder {
  /** Absolute. */
  readonly path: string;
  /** The folder that no file may lead out of by a link: a project, or the folder itself. */
  readonly within: string;
}

/** Largest file that is compared with a skill's. */
const MAX_BYTES = 1024 * 1024;

/**
 * Installs skills in folders: all of them, or none when a place cannot be written to. Files that
 * are what they should be stay as they are.
 */
export async function installSkills(machine: Machine, folders: readonly SkillFolder[], skills: readonly Skill[]): Promise<PlacedFile[]> {
  const places: (PlacedFile & { readonly content: Uint8Array })[] = [];
  for (const folder of folders) {
    for (const { name, files } of skills) {
      for (const { path: inside, content } of files) {
        const path = join(folder.path, name, inside);
        await refuseLinks(path, folder);
        const there = readRegularFile(path, { maxBytes: MAX_BYTES, followLinks: false });
        const outcome = there === undefined ? "installed" : there.equals(content) ? "unchanged" : "updated";
        places.push({ skill: name, path, outcome, content });
      }
    }
  }
  for (const { outcome, path, content } of places) if (outcome !== "unchanged") await machine.writeFile(path, content);
  return places.map(({ content: _, ...place }) => place);
}

/**
 * Removes skills from folders, and the folders of theirs that are empty then. Other files in them
 * stay.
 */
export async function removeSkills(folders: readonly SkillFolder[], skills: readonly Skill[]): Promise<PlacedFile[]> {
  const removed: PlacedFile[] = [];
  for (const folder of folders) {
    for (const { name, files } of skills) {
      for (const { path: inside } of files) {
        const path = join(folder.path, name, inside);
        await refuseLinks(path, folder);
        const wasThere = await unlink(path).then(
          () => true,
          (error: unknown) => {
            if (isMissing(error)) return false;
            throw error;
          },
        );
        removed.push({ skill: name, path, outcome: wasThere ? "removed" : "absent" });
        if (wasThere) await removeEmpty(dirname(path), folder.path);
      }
    }
  }
  return removed;
}

/** The names of the folders in skills folders. */
export async function installedSkills(folders: readonly SkillFolder[]): Promise<ReadonlySet<string>> {
  const lists = await Promise.all(folders.map(({ path }) => readdir(path, { withFileTypes: true }).catch(() => [])));
  return new Set(lists.flat().flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])));
}

async function removeEmpty(from: string, top: string): Promise<void> {
  for (let folder = from; folder !== top && folder.startsWith(top + sep); folder = dirname(folder)) {
    try {
      await rmdir(folder);
    } catch {
      return;
    }
  }
}

/**
 * Throws a CliError when a file is a link or no plain file, or when a link leads from the folder
 * out of where it may be: a project that somebody else made must not have files written elsewhere.
 */
async function refuseLinks(path: string, { path: top, within }: SkillFolder): Promise<void> {
  const bound = await realpath(within).catch(() => undefined);
  if (bound === undefined) return;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const real = await realpath(folder).catch(() => undefined);
    const isBelow = folder !== top && folder.startsWith(top + sep);
    if (isBelow && (await lstat(folder).catch(() => undefined))?.isSymbolicLink()) throw linkRefused(folder);
    if (real !== undefined && real !== bound && !real.startsWith(bound + sep)) throw linkRefused(folder);
    if (real !== undefined && !isBelow) break;
  }
  const found = await lstat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (found?.isSymbolicLink()) throw linkRefused(path);
  if (found && !found.isFile())
    throw new CliError(`${path} is in the way: it is no file`, { code: "not_a_file", hint: "Nothing was changed." });
}

function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "");
}

function linkRefused(path: string): CliError {
  return new CliError(`${path} is a link, which skills are not written through`, {
    code: "symlink_refused",
    hint: "Nothing was changed. Remove the link, or name another folder with --path.",
  });
}
