/**
 * Files that hold secrets: mode 0600 whatever the umask, replaced as a whole, never through a symbolic link. A crash leaves the old content or
 * the new one.
 */

import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { CliError } from "../errors/cli-error.ts";

const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/** The system's error code of a failed file operation, for example `ENOENT`; undefined for other errors. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Reads a text file; undefined when there is none. A symbolic link is followed, because nothing is changed. */
export async function readPrivateFile(path: string, options: { followLinks?: boolean } = {}): Promise<string | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, constants.O_RDONLY | (options.followLinks === false ? NO_FOLLOW : 0));
    return await handle.readFile("utf8");
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (code === "ELOOP") throw refusedLink(path);
    throw new CliError(`cannot read ${path}: ${describe(error)}`, { code: "file_unreadable", cause: error });
  } finally {
    await handle?.close();
  }
}

/** Replaces a file's content; folders that are missing are made with mode 0700. Throws CliError, also when a symbolic link stands at the path. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const folder = dirname(path);
  const beside = join(folder, `.${basename(path)}.${crypto.randomUUID()}.tmp`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await refuseLink(path);
    const handle = await open(beside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW, 0o600);
    try {
      await handle.chmod(0o600);
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, path);
    await syncFolder(folder);
  } catch (error) {
    await unlink(beside).catch(() => undefined);
    if (error instanceof CliError) throw error;
    throw new CliError(`cannot write ${path}: ${describe(error)}`, { code: "file_unwritable", cause: error });
  }
}

/** Throws when a symbolic link stands at the path: somebody may have put it there to be given a secret. */
export async function refuseLink(path: string): Promise<void> {
  const found = await lstat(path).catch((error) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  });
  if (found?.isSymbolicLink()) throw refusedLink(path);
}

function refusedLink(path: string): CliError {
  return new CliError(`${path} is a symbolic link; secrets are not written through links`, {
    code: "symlink_refused",
    hint: "Remove the link, or name the real file with --auth-config.",
  });
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } catch (error) {
    if (!["EINVAL", "ENOTSUP", "EBADF"].includes(systemCode(error) ?? "")) throw error;
  } finally {
    await handle.close();
  }
}

function describe(error: unknown): string {
  switch (systemCode(error)) {
    case "EACCES":
    case "EPERM":
      return "permission denied";
    case "ENOSPC":
      return "no space left on the device";
    case "EROFS":
      return "the file system is read-only";
    case "EISDIR":
      return "it is a folder";
    case "ENOTDIR":
      return "a part of the path is no folder";
    default:
      return error instanceof Error ? error.message : String(error);
  }
}
