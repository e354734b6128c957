/**
 * Reading of a path of unknown kind: only regular files of a bounded size, since reading a pipe or
 * a device may block forever or never end.
 */

import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { sizeText } from "../domain/size.ts";
import { DiskError, systemCode } from "./disk-error.ts";

const CHUNK_BYTES = 64 * 1024;

/** Whether the path is a regular file, or a link to one, that this user can see. */
export function isRegularFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    return false;
  }
}

/** Options of reading. */
export interface RegularFileOptions {
  /** Largest size of the file; a larger one is refused. */
  readonly maxBytes: number;
  /** Read a larger file up to that size instead. Default false. */
  readonly isBeginning?: boolean;
  /** Follow a symbolic link at the path. Default true. */
  readonly followLinks?: boolean;
}

/**
 * Reads a whole file, never blocking on a pipe or device; undefined when there is none. Throws
 * DiskError: `is_a_folder`, `not_a_file` for a pipe, socket or device, `file_too_large`,
 * `symlink_refused`, and `file_unreadable` with the system's message.
 */
export function readRegularFile(
  path: string,
  { maxBytes, isBeginning = false, followLinks = true }: RegularFileOptions,
): Buffer | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (followLinks ? 0 : (constants.O_NOFOLLOW ?? 0)));
    const found = fstatSync(fd);
    if (!found.isFile()) throw notAFile(path, found.isDirectory() ? "folder" : found.isFIFO() ? "named pipe" : "device");
    if (found.size > maxBytes && !isBeginning) throw tooLarge(path, maxBytes);
    const chunks: Buffer[] = [];
    for (let total = 0; ; ) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const length = readSync(fd, chunk, 0, chunk.length, null);
      if (length === 0) return Buffer.concat(chunks);
      total += length;
      if (total > maxBytes && !isBeginning) throw tooLarge(path, maxBytes);
      chunks.push(chunk.subarray(0, length));
      if (total >= maxBytes && isBeginning) return Buffer.concat(chunks).subarray(0, maxBytes);
    }
  } catch (error) {
    if (error instanceof DiskError) throw error;
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ENXIO") throw notAFile(path, "socket");
    if (code === "EISDIR") throw notAFile(path, "folder");
    if (code === "ELOOP" && !followLinks) throw linkRefused(path);
    throw DiskError.from("read", path, error);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The error for a symbolic link at the path of a secret. */
export function linkRefused(path: string): DiskError {
  return new DiskError(`${path} is a symbolic link; secrets are not written through links`, "symlink_refused", {
    hint: "Remove the link, or name the real file.",
  });
}

function notAFile(path: string, kind: string): DiskError {
  return new DiskError(`cannot read ${path}: it is a ${kind}, not a file`, kind === "folder" ? "is_a_folder" : "not_a_file");
}

function tooLarge(path: string, maxBytes: number): DiskError {
  return new DiskError(`cannot read ${path}: it is larger than ${sizeText(maxBytes)}`, "file_too_large");
}
