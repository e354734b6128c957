/**
 * Results that are worth keeping between processes, in a private folder: a file for each, named by
 * the hash of all that the result is a function of. A file that is damaged, cut short, not this
 * user's alone, or another's under a wrong name counts as absent; a folder that cannot be written
 * keeps nothing.
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

/** The results in a folder. What was asked for longest ago goes first when there are too many. */
export class ResultCache {
  constructor(
    readonly folder: string,
    readonly limits: CacheLimits,
  ) {}

  /**
   * The result of a key of lower-case hex digits; undefined when there is none that can be used.
   */
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
   * Keeps a result, and drops others that no longer fit. Whoever writes last under a key wins, with
   * a whole file.
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

/**
 * Removes the files of a folder that were written or asked for longest ago until the rest is within
 * the limits.
 */
export function prune(folder: string, { maxBytes, maxFiles }: CacheLimits): void {
  let bytes = 0;
  let files = 0;
  for (const { path, size } of newestFirst(folder)) {
    bytes += size;
    files++;
    if (bytes > maxBytes || files > maxFiles) remove(path);
  }
}

/** Says that a file was asked for now, where that can be said. */
function touch(path: string): void {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch {
    // In a folder that may only be read nothing is ever dropped, so that it need not be known.
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Whoever may write here drops it the next time.
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
