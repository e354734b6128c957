/**
 * Unpacking of untrusted archives: checked entry by entry, and unpacked completely or not at all.
 */

import { mkdir, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { ARCHIVE_LIMITS, type ArchiveLimits, ArchiveRefused, readArchive } from "../domain/tar/reader.ts";
import { systemCode } from "./disk-error.ts";
import { renameInPlace } from "./rename.ts";

/**
 * The limits of archives on this system: on Windows and macOS, names that differ only in case are
 * the same file, and some names are reserved.
 */
export const UNPACK_LIMITS: ArchiveLimits = {
  ...ARCHIVE_LIMITS,
  portableNames: process.platform === "win32" || process.platform === "darwin",
};

/**
 * Unpacks a gzip-compressed tar into `target`, which must not exist. Files get mode 0600, folders
 * 0700.
 * @returns paths of the files relative to the target, sorted
 * @throws ArchiveRefused when the archive is damaged, too big or unsafe, else the system's error;
 * nothing is left behind then
 */
export async function unpackArchive(
  gzip: AsyncIterable<Uint8Array>,
  target: string,
  limits: ArchiveLimits = UNPACK_LIMITS,
): Promise<string[]> {
  const partial = join(dirname(target), `.${crypto.randomUUID()}.partial`);
  try {
    await mkdir(dirname(target), { recursive: true });
    await mkdir(partial, { mode: 0o700 });
    const files: string[] = [];
    for await (const entry of readArchive(gunzipped(gzip), limits)) {
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
    await renameInPlace(partial, target);
    return files.sort();
  } catch (error) {
    await rm(partial, { recursive: true, force: true }).catch(() => undefined);
    throw refusedIfNoGzip(error);
  }
}

function refusedIfNoGzip(error: unknown): unknown {
  return /^(Z_|ERR_.*(ZLIB|COMPRESS|TRAILING))/.test(systemCode(error) ?? "")
    ? new ArchiveRefused("the archive is not a whole gzip file", { cause: error })
    : error;
}

/**
 * The bytes of one file of a gzip-compressed tar, which is read no further than to its end;
 * undefined when the archive has no such file, and `too large` when it is larger than `maxBytes`.
 * @throws ArchiveRefused when the archive is damaged, too big or unsafe
 */
export async function readArchivedFile(
  gzip: AsyncIterable<Uint8Array>,
  path: string,
  maxBytes: number,
  limits: ArchiveLimits = UNPACK_LIMITS,
): Promise<Uint8Array | "too large" | undefined> {
  try {
    for await (const entry of readArchive(gunzipped(gzip), limits)) {
      if (entry.kind !== "file" || entry.path !== path) continue;
      return entry.size > maxBytes ? "too large" : Bun.concatArrayBuffers(await Array.fromAsync(entry.content()), maxBytes, true);
    }
    return undefined;
  } catch (error) {
    throw refusedIfNoGzip(error);
  }
}

async function* gunzipped(gzip: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const gunzip = createGunzip();
  const source = Readable.from(gzip);
  source.on("error", (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}
