/** The folders of the data directory as volumes, with measured bytes. */

import type { Dirent } from "node:fs";
import { lstat, readdir, statfs } from "node:fs/promises";
import { join } from "node:path";

/** A folder and its bytes. */
export interface Volume {
  /** The folder's name; that of the data directory itself is `data`, without the other folders. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Bytes on the disk; at least, when the folder holds too much to be counted. */
  readonly usedBytes: number;
  /** Whether all of it was counted. */
  readonly isComplete: boolean;
  /** Bytes that this server could still write, and all bytes, of the file system. */
  readonly availableBytes: number;
  readonly capacityBytes: number;
}

/** Name of the volume that is the data directory itself. */
const ROOT = "data";
/** Most files and folders that are looked at in one measurement. */
const MAX_ENTRIES = 200_000;
const MAX_VOLUMES = 100;
const STAT_AT_ONCE = 64;
const BLOCK = 512;

/** Measures the folders of the data directory; the first volume is its own files. */
export async function measureVolumes(dataDir: string, maxEntries = MAX_ENTRIES): Promise<Volume[]> {
  const budget = { left: maxEntries };
  const folders = (await entriesOf(dataDir)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const named = folders.sort().slice(0, MAX_VOLUMES - 1);
  const volumes = [await measure(ROOT, dataDir, budget, false)];
  for (const name of named) volumes.push(await measure(name, join(dataDir, name), budget, true));
  return volumes;
}

async function measure(name: string, path: string, budget: { left: number }, isDeep: boolean): Promise<Volume> {
  const { bavail, blocks, bsize } = await statfs(path);
  let usedBytes = 0;
  const folders = [path];
  for (let folder = folders.pop(); folder !== undefined && budget.left > 0; folder = folders.pop()) {
    const entries = (await entriesOf(folder)).slice(0, budget.left);
    budget.left -= entries.length;
    const files: string[] = [];
    for (const entry of entries) {
      const at = join(folder, entry.name);
      if (!entry.isDirectory()) files.push(at);
      else if (isDeep) folders.push(at);
    }
    for (let from = 0; from < files.length; from += STAT_AT_ONCE) {
      const sizes = await Promise.all(files.slice(from, from + STAT_AT_ONCE).map(sizeOf));
      for (const size of sizes) usedBytes += size;
    }
  }
  return { name, path, usedBytes, isComplete: budget.left > 0, availableBytes: bavail * bsize, capacityBytes: blocks * bsize };
}

/** The entries of a folder; none of one that went away meanwhile or may not be read. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch(() => []);
}

async function sizeOf(path: string): Promise<number> {
  const stats = await lstat(path).catch(() => undefined);
  return stats ? stats.blocks * BLOCK : 0;
}
