/** A deployment's source on this machine: downloaded, checked entry by entry, and in place as a whole or not at all. */

import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ARCHIVE_LIMITS, type ArchiveLimits, ArchiveRefused, readArchive } from "../domain/archive.ts";
import { CliError } from "../errors/cli-error.ts";

const LIMITS: ArchiveLimits = { ...ARCHIVE_LIMITS, portableNames: process.platform === "win32" || process.platform === "darwin" };

/**
 * Unpacks a gzip-compressed tar into a folder that does not exist yet. Files get mode 0600 and folders 0700.
 * @returns paths of the files relative to the folder, sorted
 * @throws CliError when the folder exists, or when the archive is damaged, too big or unsafe; nothing is left behind then
 */
export async function unpackSource(archive: Uint8Array, target: string, limits: ArchiveLimits = LIMITS): Promise<string[]> {
  if (await exists(target)) {
    throw new CliError(`${target} exists already`, { code: "exists", hint: "Remove it, or name another folder with --output-dir." });
  }
  const partial = join(dirname(target), `.${crypto.randomUUID()}.partial`);
  try {
    await mkdir(dirname(target), { recursive: true });
    await mkdir(partial, { mode: 0o700 });
    const files: string[] = [];
    for await (const entry of readArchive(gunzipped(archive), limits)) {
      const path = join(partial, ...entry.path.split("/"));
      if (entry.kind === "folder") {
        await mkdir(path, { mode: 0o700 });
        continue;
      }
      files.push(entry.path);
      const file = await open(path, "wx", 0o600);
      try {
        for await (const chunk of entry.content()) await file.writeFile(chunk);
      } finally {
        await file.close();
      }
    }
    await rename(partial, target);
    return files.sort();
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw explain(error, target);
  }
}

async function* gunzipped(archive: Uint8Array): AsyncIterable<Uint8Array> {
  const gunzip = createGunzip();
  const source = Readable.from([archive]);
  source.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

function explain(error: unknown, target: string): unknown {
  if (error instanceof ArchiveRefused) {
    return new CliError(`the source was not unpacked: ${error.message}`, {
      code: "unsafe_archive",
      hint: "Nothing was written. The server sent an archive that svc does not make.",
      cause: error,
    });
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (/^Z_/.test(code)) {
    return new CliError("the source was not unpacked: the archive is cut or damaged", {
      code: "broken_answer",
      hint: "Try again.",
      cause: error,
    });
  }
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
