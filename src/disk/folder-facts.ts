/** What a folder can be used for. */

import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Bytes that this user may still write to the device of a folder; undefined when it cannot be told,
 * as of a folder that is not there.
 */
export function freeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** A folder, or the nearest one above it that is there, in which it can be made. */
export interface FolderFacts {
  /** Of the one that is there. */
  readonly path: string;
  /** Whether this user may make files in it. */
  readonly isWritable: boolean;
  /**
   * Whether other users may make and replace files in it, and it is the one that was asked for.
   * False on Windows, which knows no modes.
   */
  readonly isOpenToOthers: boolean;
  /** Room on its device; undefined when that cannot be told. */
  readonly freeBytes: number | undefined;
}

/** The facts of a folder by its absolute path. */
export function folderFacts(folder: string): FolderFacts {
  let path = folder;
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path);
  const isOpenToOthers = path === folder && process.platform !== "win32" && (statSync(path).mode & 0o022) !== 0;
  return { path, isWritable: isWritable(path), isOpenToOthers, freeBytes: freeBytes(path) };
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
