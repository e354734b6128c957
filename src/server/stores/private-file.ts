/** Files that only their owner may read. Names are never followed through links, and a crash leaves the old content or the new. */

import { chmodSync, closeSync, constants, fsyncSync, mkdirSync, openSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** Creates a folder and those above it, mode 0700. One that is there already keeps its rights: it may serve others too. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** Makes sure that a file exists with mode 0600, so that a database opened on it is private from its first byte. A link is refused. */
export function createPrivateFile(path: string): void {
  const fd = openSync(path, constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW, 0o600);
  closeSync(fd);
  chmodSync(path, 0o600);
}

/** Flushes a folder's entries to the disk; a no-op where folders cannot be opened. */
export function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const fd = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Writes a file with mode 0600 beside its place, flushes it and renames it there. */
export function writePrivateFile(path: string, content: string | Uint8Array): void {
  const beside = `${path}.${process.pid}.${crypto.randomUUID()}.tmp`;
  const fd = openSync(beside, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW, 0o600);
  try {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    fsyncSync(fd);
  } catch (error) {
    closeSync(fd);
    unlinkSync(beside);
    throw error;
  }
  closeSync(fd);
  renameSync(beside, path);
  syncFolder(dirname(path));
}
