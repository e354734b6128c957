/**
 * Files and folders that hold secrets or state: mode 0600 and 0700 whatever the umask, replaced as
 * a whole, never through a symbolic link that somebody may have put there to be given a secret. A
 * crash leaves the old content or the new. Windows knows no modes: there a file is as private as
 * the folder it is in, and the user's own folder, where all of them are by default, is closed to
 * other users.
 */

import { chmodSync, closeSync, constants, fsyncSync, lstatSync, mkdirSync, openSync, statSync, unlinkSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { DiskError, systemCode } from "./disk-error.ts";
import { linkRefused, readRegularFile } from "./regular-file.ts";
import { renameInPlaceSync } from "./rename.ts";

const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/**
 * Creates a folder and those above it, mode 0700. One that is there already keeps its rights: it
 * may serve others too.
 */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/**
 * Makes sure that a file exists with mode 0600, so that a database opened on it is private from its
 * first byte. A link is refused.
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
 * nothing is changed. Throws DiskError.
 */
export function readPrivateFile(path: string, { followLinks = true }: { readonly followLinks?: boolean } = {}): string | undefined {
  return readRegularFile(path, { maxBytes: LARGEST_TEXT, followLinks })?.toString("utf8");
}

/**
 * Whether the mode of a file lets anybody but its owner read or write it; false where there is
 * none, and on Windows, which knows no modes.
 */
export function isOpenToOthers(path: string): boolean {
  if (process.platform === "win32") return false;
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.mode & 0o066) !== 0;
}

/**
 * Gives a file mode 0600 and a folder 0700; false when there is none, or its mode is not this
 * user's to change. On Windows nothing is changed.
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
 * Writes a file with mode 0600 beside its place and renames it there; folders that are missing are
 * made with mode 0700. With `durable` (the default) it is on the disk when this returns. Throws
 * DiskError, also when a symbolic link stands at the path.
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

/** Throws DiskError when a symbolic link stands at the path. */
export function refuseLink(path: string): void {
  try {
    if (!lstatSync(path).isSymbolicLink()) return;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return;
    throw error;
  }
  throw linkRefused(path);
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
