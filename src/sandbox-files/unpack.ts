/**
 * Files that a sandbox sends, on this machine: into a new folder first, where nothing is that could
 * lead elsewhere, and to their place when all are there. What a sandbox sends is not trusted: links
 * and devices are left out, and a name that leads out of its folder refuses everything.
 */

import { lstat, mkdir, open, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { renameInPlace } from "../disk/rename.ts";
import { UNPACK_LIMITS } from "../disk/unpack.ts";
import { ArchiveRefused, type LeftOut, readArchive } from "../domain/tar/reader.ts";
import { CliError } from "../errors/cli-error.ts";

/** What was unpacked. */
export interface Unpacked {
  files: number;
  bytes: number;
  /** How many links and devices were left out, and the first of them. */
  leftOut: number;
  first: LeftOut | undefined;
}

const MOST_ENTRIES = 200_000;

/**
 * Where something of a name is unpacked: in a folder that is there, else at the path itself.
 * Rejects with CliError for a folder that would be mixed with what is in it.
 */
export async function targetOf(path: string, name: string): Promise<string> {
  const isFolder = (await kindOf(path, true)) === "folder";
  const target = resolve(isFolder && name !== "" ? join(path, name) : path);
  if ((await kindOf(target, false)) === "folder")
    throw new CliError(`there is a folder at ${target} already`, { code: "already_exists", hint: "Remove it, or name another place." });
  return target;
}

/**
 * Unpacks an archive of one file or folder of a name. Rejects with CliError or the system's error;
 * nothing is left behind then.
 * @param name empty = what is at the archive's root
 */
export async function unpack(
  archive: AsyncIterable<Uint8Array>,
  { maxBytes, name, target }: { readonly name: string; readonly target: string; readonly maxBytes: number },
  unpacked: Unpacked,
): Promise<void> {
  const partial = join(dirname(target), `.${basename(target)}.${crypto.randomUUID()}.partial`);
  const onLeftOut = (entry: LeftOut): void => {
    unpacked.leftOut++;
    unpacked.first ??= entry;
  };
  try {
    await mkdir(partial, { mode: 0o700 });
    for await (const entry of readArchive(archive, { ...UNPACK_LIMITS, maxEntries: MOST_ENTRIES, maxBytes, onLeftOut })) {
      if (name !== "" && entry.path.split("/")[0] !== name) throw new ArchiveRefused(`${JSON.stringify(entry.path)} was not asked for`);
      const path = join(partial, ...entry.path.split("/"));
      if (entry.kind === "folder") {
        await mkdir(path);
        continue;
      }
      const file = await open(path, "wx", (entry.mode & 0o777) | 0o600);
      try {
        for await (const chunk of entry.content()) {
          await file.writeFile(chunk);
          unpacked.bytes += chunk.length;
        }
      } finally {
        await file.close();
      }
      unpacked.files++;
    }
    const whole = name === "" ? partial : join(partial, name);
    const kind = await kindOf(whole, false);
    if (kind === undefined) {
      const what = unpacked.first ? `${unpacked.first.what}, which is not followed` : "nothing";
      throw new CliError(`what the sandbox sent is ${what}`, { code: "nothing_sent" });
    }
    if (kind === "folder" && (await kindOf(target, false)) !== undefined)
      throw new CliError(`there is a file at ${target} already, and what comes is a folder`, { code: "already_exists" });
    await renameInPlace(whole, target);
  } catch (error) {
    if (error instanceof ArchiveRefused)
      throw new CliError(`what the sandbox sent is refused: ${error.message}`, { code: "archive_refused", cause: error });
    throw error;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** What is at a path; undefined when there is nothing. */
async function kindOf(path: string, follow: boolean): Promise<"folder" | "other" | undefined> {
  const found = await lstat(follow ? join(path, ".") : path).catch(() => undefined);
  return found && (found.isDirectory() ? "folder" : "other");
}
