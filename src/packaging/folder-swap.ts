/**
 * Folders that readers only see complete: made under a temporary name, and moved into place in one
 * step.
 */

import { copyFile, link, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileNames } from "./file-facts.ts";

/**
 * How files get into a new folder: copied, or as hard links where the disk supports them. Files
 * that are hard links of each other in the source stay so.
 */
export type Copying = "copied" | "linked";

/**
 * Makes `folder`, which must not exist yet, with the files of `source`. `change` may modify the
 * copy before it becomes visible.
 */
export async function addFolder(
  source: string,
  folder: string,
  copying: Copying,
  change: (dir: string) => Promise<void> = async () => {},
): Promise<void> {
  const fresh = await preparedCopy(source, folder, copying);
  await change(fresh);
  await rename(fresh, folder);
}

/**
 * Like {@link addFolder}, but replaces an existing folder. Where the system can exchange two names
 * (Linux), the folder exists at every moment; elsewhere it is missing for a short one.
 */
export async function replaceFolder(
  source: string,
  folder: string,
  copying: Copying,
  change: (dir: string) => Promise<void> = async () => {},
): Promise<void> {
  const fresh = await preparedCopy(source, folder, copying);
  await change(fresh);
  if (!(await exchanged(fresh, folder))) {
    const old = `${fresh}.old`;
    await rename(folder, old).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    await rename(fresh, folder);
    await rm(old, { recursive: true, force: true });
  }
  await rm(fresh, { recursive: true, force: true });
}

const PREFIX = ".new-";

async function preparedCopy(source: string, folder: string, copying: Copying): Promise<string> {
  const parent = dirname(folder);
  await mkdir(parent, { recursive: true });
  for (const name of await readdir(parent)) if (name.startsWith(PREFIX)) await rm(join(parent, name), { recursive: true, force: true });
  const fresh = join(parent, `${PREFIX}${process.pid}`);
  await mkdir(fresh);
  const copies = new Map<bigint, string>();
  for (const name of await fileNames(source)) {
    const [from, to] = [join(source, name), join(fresh, name)];
    const { ino } = await stat(from, { bigint: true });
    const same = copying === "linked" ? from : copies.get(ino);
    if (same === undefined) await copyFile(from, to);
    else await linkOrCopy(same, to);
    copies.set(ino, to);
  }
  return fresh;
}

/** Makes `path` a hard link to a file, or a copy where the disk has no hard links. */
export async function linkOrCopy(file: string, path: string): Promise<void> {
  await link(file, path).catch(() => copyFile(file, path));
}

const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;

/** Exchanges two paths by renameat2(2) with RENAME_EXCHANGE; false where the system cannot. */
async function exchanged(one: string, other: string): Promise<boolean> {
  if (process.platform !== "linux") return false;
  const { dlopen, FFIType, ptr } = await import("bun:ffi");
  for (const library of ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`]) {
    try {
      const { i32, ptr: path, u32 } = FFIType;
      const libc = dlopen(library, { renameat2: { args: [i32, path, i32, path, u32], returns: i32 } });
      try {
        const [first, second] = [Buffer.from(`${one}\0`), Buffer.from(`${other}\0`)];
        return libc.symbols.renameat2(AT_FDCWD, ptr(first), AT_FDCWD, ptr(second), RENAME_EXCHANGE) === 0;
      } finally {
        libc.close();
      }
    } catch {}
  }
  return false;
}
