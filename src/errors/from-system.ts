/** Errors of the operating system (files, streams) in words. */

import { CliError } from "./cli-error.ts";

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EACCES: "permission denied",
  EPERM: "not permitted",
  EISDIR: "it is a directory",
  EEXIST: "a file is in the way",
  ENOTDIR: "a part of the path is no directory",
  ENOSPC: "no space left on the device",
  EDQUOT: "the disk quota is used up",
  EROFS: "the file system is read-only",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "too many symbolic links",
  EBADF: "it is closed",
  EIO: "input/output error",
};

/** The error for the user when `error` is one of the system's, else undefined. `what` says what was being done, for example "write to stdout". */
export function fromSystem(error: unknown, what?: string): CliError | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  const words = Object.hasOwn(WORDS, error.code) ? WORDS[error.code] : undefined;
  if (!words) return undefined;
  const path = "path" in error && typeof error.path === "string" ? error.path : undefined;
  const subject = what ? `cannot ${what}` : path ? `cannot use ${path}` : "a file could not be used";
  return new CliError(`${subject}: ${words}`, { code: error.code.toLowerCase(), cause: error });
}
