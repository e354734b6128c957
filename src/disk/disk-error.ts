/** Errors of files, with messages for users of both the command line and the server. */

import { dirname } from "node:path";
import { errorText } from "../domain/error-text.ts";
import { freeBytes } from "./folder-facts.ts";

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EPERM: "not permitted",
  EISDIR: "it is a directory",
  EEXIST: "a file is in the way",
  ENOTDIR: "a part of the path is no directory",
  ENOSPC: "no space left on the device",
  EDQUOT: "the disk quota is used up",
  ENOEXEC: "it is no program for this machine",
  EROFS: "the file system is read-only",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "too many symbolic links",
  EBADF: "it is closed",
  EFBIG: "it would be larger than a file may be here",
  EIO: "input/output error",
};

/** Messages for SQLite's errors, by the first part of the code. */
const DATABASE_WORDS: Readonly<Record<string, string>> = {
  SQLITE_FULL: "no space left on the device",
  SQLITE_IOERR: "input/output error",
  SQLITE_READONLY: "it may only be read",
  SQLITE_CANTOPEN: "it cannot be opened",
  SQLITE_CORRUPT: "it is damaged",
  SQLITE_NOTADB: "it is damaged",
};

/**
 * The system's error code of a failed operation, for example `ENOENT`; undefined for other errors.
 */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/**
 * Whether an operation failed because the device is full or the quota used up. The error's causes
 * are checked too.
 */
export function isOutOfSpace(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if (/^(ENOSPC|EDQUOT|SQLITE_FULL)/.test(systemCode(at) ?? "")) return true;
  return false;
}

/**
 * Whether an operation failed because of the device, perhaps temporarily: it is full, or reading or
 * writing failed.
 */
export function isDeviceFailure(error: unknown): boolean {
  return isOutOfSpace(error) || /^(EIO$|SQLITE_IOERR)/.test(systemCode(error) ?? "");
}

/** Free space below which a device counts as full, in bytes. */
const LEAST_ROOM = 64 * 1024;

/**
 * The reason why a file could not be used, for a message. `path` is the file, which need not exist.
 */
export function reasonAt(path: string, error: unknown): string {
  if (isOutOfSpaceAt(path, error)) return WORDS.ENOSPC as string;
  return systemWords(error) ?? errorText(error);
}

/**
 * Whether an operation on a file failed because its device is full. SQLite often reports a full
 * device as an input/output error, so the device is checked then.
 */
export function isOutOfSpaceAt(path: string, error: unknown): boolean {
  return isOutOfSpace(error) || (/^SQLITE_(IOERR|CANTOPEN)/.test(systemCode(error) ?? "") && isFull(dirname(path)));
}

/** Whether the device of a folder is full; false when that is unknown. */
export function isFull(folder: string): boolean {
  const free = freeBytes(folder);
  return free !== undefined && free < LEAST_ROOM;
}

/** The message for a system error; undefined for an unknown one. */
export function systemWords(error: unknown): string | undefined {
  const code = systemCode(error);
  if (code === undefined) return undefined;
  const database = /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? "";
  return Object.hasOwn(WORDS, code) ? WORDS[code] : DATABASE_WORDS[database];
}

/** The error for a file that could not be read, written or locked. */
export class DiskError extends Error {
  override readonly name = "DiskError";
  /** The next step, when there is one. */
  readonly hint: string | undefined;
  constructor(
    message: string,
    /** Machine-readable, snake_case. */
    readonly code: string,
    options: { readonly hint?: string; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
  }

  /** The error for an operation on a path that the system refused. */
  static from(operation: "read" | "write", path: string, cause: unknown): DiskError {
    const words = systemWords(cause) ?? errorText(cause);
    return new DiskError(`cannot ${operation} ${path}: ${words}`, operation === "read" ? "file_unreadable" : "file_unwritable", { cause });
  }
}
