/**
 * Files and folders that hold secrets or state: mode 0600 and 0700 whatever the umask, replaced
 * atomically, never written through a symbolic link, which another user could have placed to obtain
 * a secret. A crash leaves the old content or the new. Windows has no modes: there a file is as
 * private as its folder, and the user's own folder, where all of them are by default, is closed to
 * other users.
 */

import { chmodSync, closeSync, constants, fsyncSync, lstatSync, mkdirSync, openSync, statSync, unlinkSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { DiskError, systemCode } from "./disk-error.ts";
import { linkRefused, readRegularFile } from "./regular-file.ts";
import { renameInPlaceSync } from "./rename.ts";

const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/**
 * Creates a folder and its missing parents, mode 0700. An existing one keeps its mode: it may have
 * other uses.
 */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/**
 * Makes sure that a file exists with mode 0600, so that a database opened on it is private from its
 * first byte. Throws the system's error, also for a symbolic link.
 */
export function createPrivateFile(path: string): void {
  const fd = openSync(path, constants.O_CREAT | constants.O_RDWR | NO_FOLLOW, 0o600);
  closeSync(fd);
  chmodSync(path, 0o600);
}

/** Largest text file that is read, in bytes: far more than svc writes. */
const LARGEST_TEXT = 16 * 1024 * 1024;

/**
 * Reads a text file; undefined when there is none. By default a symbolic link is followed, because
 * reading changes nothing. Throws DiskError.
 */
export function readPrivateFile(path: string, { followLinks = true }: { readonly followLinks?: boolean } = {}): string | undefined {
  return readRegularFile(path, { maxBytes: LARGEST_TEXT, followLinks })?.toString("utf8");
}

/**
 * Whether the mode of a file allows others than its owner to read or write it; false when there is
 * none, and on Windows, which has no modes.
 */
export function isOpenToOthers(path: string): boolean {
  if (process.platform === "win32") return false;
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o066) !== 0;
}

/**
 * Sets a file's mode to 0600 or a folder's to 0700; false when there is none, or this user may not
 * change it. On Windows nothing is changed.
 */
export function closeToOthers(path: string): boolean {
  try {
    chmodSync(path, statSync(path).isDirectory() ? 0o700 : 0o600);
    return true;
  } catch {
    return false;
  }
}

/**
 * Writes a temporary file with mode 0600 and renames it to the path; missing folders are created
 * with mode 0700. With `durable` (the default) it is on the disk when this returns. Throws
 * DiskError, also when the path is a symbolic link.
 */
export function writePrivateFile(
  path: string,
  content: string | Uint8Array,
  { durable = true }: { readonly durable?: boolean } = {},
): void {
  const beside = `${path}.${process.pid}.${crypto.randomUUID()}.tmp`;
  try {
    makePrivateFolder(dirname(path));
    refuseLink(path);
    const fd = openSync(beside, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | NO_FOLLOW, 0o600);
    try {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
      if (durable) fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameInPlaceSync(beside, path);
    if (durable) syncFolder(dirname(path));
  } catch (error) {
    if (error instanceof DiskError) throw error;
    try {
      unlinkSync(beside);
    } catch {
      // It was never made, or its name is taken already.
    }
    throw DiskError.from("write", path, error);
  }
}

/** Throws DiskError when the path is a symbolic link. */
export function refuseLink(path: string): void {
  try {
    if (!lstatSync(path).isSymbolicLink()) return;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return;
    throw error;
  }
  throw linkRefused(path);
}

/** Flushes a file's content to the disk. */
export function syncFile(path: string): void {
  // Windows flushes only what may be written.
  const fd = openSync(path, "r+");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Flushes a folder's entries to the disk; a no-op where folders cannot be opened or flushed. */
export function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const fd = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } catch (error) {
    if (!["EINVAL", "ENOTSUP", "EBADF"].includes(systemCode(error) ?? "")) throw error;
  } finally {
    closeSync(fd);
  }
}
