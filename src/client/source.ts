/** A deployment's source on this machine. */

import { stat } from "node:fs/promises";
import { systemCode } from "../disk/disk-error.ts";
import { UNPACK_LIMITS, unpackArchive } from "../disk/unpack.ts";
import { type ArchiveLimits, ArchiveRefused } from "../domain/tar/reader.ts";
import { CliError } from "../errors/cli-error.ts";

/**
 * Unpacks a source bundle into a folder that does not exist yet.
 * @returns paths of the files relative to the folder, sorted
 * @throws CliError when the folder exists, or when the archive is damaged, too big or unsafe;
 * nothing is left behind then
 */
export async function unpackSource(archive: Uint8Array, target: string, limits: ArchiveLimits = UNPACK_LIMITS): Promise<string[]> {
  if (await exists(target)) {
    throw new CliError(`${target} exists already`, { code: "exists", hint: "Remove it, or name another folder with --output-dir." });
  }
  try {
    return await unpackArchive(new Blob([archive as Uint8Array<ArrayBuffer>]).stream(), target, limits);
  } catch (error) {
    throw explain(error, target);
  }
}

function explain(error: unknown, target: string): unknown {
  if (error instanceof ArchiveRefused) {
    const isDamaged = error.cause !== undefined;
    return new CliError(`the source was not unpacked: ${error.message}`, {
      code: isDamaged ? "broken_answer" : "unsafe_archive",
      hint: isDamaged ? "Try again." : "Nothing was written. The server sent an archive that svc does not make.",
      cause: error,
    });
  }
  const code = systemCode(error);
  if (error instanceof CliError || !code) return error;
  return new CliError(`cannot write ${target}: ${error instanceof Error ? error.message : code}`, {
    code: "file_unwritable",
    cause: error,
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
