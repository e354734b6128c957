/** Properties of a folder: rights and free space. */

import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Bytes that this user may still write to the device of a folder; undefined when that is unknown,
 * for example because the folder does not exist.
 */
export function freeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** Properties of a folder, or of its nearest existing ancestor, in which it can be created. */
export interface FolderFacts {
  /** Path of the existing folder. */
  readonly path: string;
  /** Whether this user may create files in it. */
  readonly isWritable: boolean;
  /**
   * Whether other users may create and replace files in the requested folder; false when it does
   * not exist, and on Windows, which has no modes.
   */
  readonly isOpenToOthers: boolean;
  /** Free bytes on its device; undefined when that is unknown. */
  readonly freeBytes: number | undefined;
}

/** The properties of a folder by its absolute path. */
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
