/**
 * A cache of results shared by processes, in a private folder: a file for each result, named by the
 * hash of all its inputs. A file that is damaged, truncated, accessible to other users, or stored
 * under a wrong name counts as absent; in a folder that cannot be written nothing is stored.
 */

import { readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { DiskError } from "./disk-error.ts";
import { isOpenToOthers, writePrivateFile } from "./private-file.ts";
import { readRegularFile } from "./regular-file.ts";

/** Bounds of a folder of results. */
export interface CacheLimits {
  /** Largest sum of the sizes of the files, in bytes. */
  readonly maxBytes: number;
  /** Largest number of files. */
  readonly maxFiles: number;
}

const DIGEST_BYTES = 32;

/** The results in a folder; the least recently used ones are removed when there are too many. */
export class ResultCache {
  constructor(
    readonly folder: string,
    readonly limits: CacheLimits,
  ) {}

  /** The result of a key, lower-case hex digits; undefined when no valid one is stored. */
  get(key: string): Uint8Array | undefined {
    const path = join(this.folder, key);
    try {
      if (isOpenToOthers(path)) return undefined;
      const content = readRegularFile(path, { maxBytes: this.limits.maxBytes, followLinks: false });
      if (content === undefined || content.length < DIGEST_BYTES) return undefined;
      const packed = content.subarray(DIGEST_BYTES);
      if (!content.subarray(0, DIGEST_BYTES).equals(digestOf(key, packed))) return undefined;
      touch(path);
      return Bun.zstdDecompressSync(packed);
    } catch {
      return undefined;
    }
  }

  /**
   * Stores a result, and removes others that exceed the limits. Writes are atomic; the last one of
   * a key wins.
   */
  put(key: string, result: Uint8Array): void {
    const packed = Bun.zstdCompressSync(result, { level: 1 });
    try {
      writePrivateFile(join(this.folder, key), Buffer.concat([digestOf(key, packed), packed]), { durable: false });
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      return;
    }
    prune(this.folder, this.limits);
  }
}

/** Removes the least recently used files of a folder until the rest is within the limits. */
export function prune(folder: string, { maxBytes, maxFiles }: CacheLimits): void {
  let bytes = 0;
  let files = 0;
  for (const { path, size } of newestFirst(folder)) {
    bytes += size;
    files++;
    if (bytes > maxBytes || files > maxFiles) remove(path);
  }
}

/** Marks a file as used now, where that is permitted. */
function touch(path: string): void {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch {
    // From a read-only folder nothing is removed, so that the time of use does not matter.
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // A process that may write here removes it later.
  }
}

function newestFirst(folder: string): { readonly path: string; readonly size: number; readonly mtimeMs: number }[] {
  return namesIn(folder)
    .flatMap((name) => {
      const path = join(folder, name);
      const found = statSync(path, { throwIfNoEntry: false });
      return found?.isFile() ? [{ path, size: found.size, mtimeMs: found.mtimeMs }] : [];
    })
    .sort((a, b) => b.mtimeMs - a.mtimeMs);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function digestOf(key: string, content: Uint8Array): Buffer {
  return new Bun.CryptoHasher("sha256").update(key).update(content).digest() as Buffer;
}
