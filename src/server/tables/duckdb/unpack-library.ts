/** Unpacking of the database library from the binary, once for each version and user. */

import { closeSync, fsyncSync, lstatSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DiskError, systemCode } from "../../../disk/disk-error.ts";
import { makePrivateFolder } from "../../../disk/private-file.ts";
import { renameInPlaceSync } from "../../../disk/rename.ts";
import { TableError } from "../engine.ts";
import type { LibraryFiles, PackedFile } from "./library-files.ts";

type PackedLibrary = Extract<LibraryFiles, { readonly kind: "packed" }>;

/**
 * Makes sure that the library is unpacked and whole, and returns the path of its addon. It appears
 * complete or not at all, whoever else unpacks at the same time; one that is damaged is replaced.
 * @param folders where it may be, of which the first that can be written is taken
 * @throws TableError when it is nowhere and can be written nowhere
 */
export function unpackLibrary(library: PackedLibrary, folders: readonly string[]): string {
  const name = `duckdb-${library.hash.slice(0, 32)}`;
  for (const folder of folders) if (isWhole(join(folder, name), library.files)) return join(folder, name, library.addon);
  const failures: unknown[] = [];
  for (const folder of folders)
    try {
      unpackInto(join(folder, name), folder, library.files);
      return join(folder, name, library.addon);
    } catch (error) {
      if (error instanceof TableError) throw error;
      failures.push(DiskError.from("write", join(folder, name), error));
    }
  const reasons = failures.map((failure) => (failure as Error).message).join("; ");
  throw new TableError("unavailable", `the table engine has to be unpacked once, 70 MB, and cannot be: ${reasons}`);
}

function unpackInto(target: string, folder: string, files: readonly PackedFile[]): void {
  makePrivateFolder(folder);
  const beside = `${target}.${process.pid}.${crypto.randomUUID().slice(0, 8)}`;
  mkdirSync(beside, { mode: 0o700 });
  try {
    for (const { name, asset, size, check } of files) {
      const content = Bun.zstdDecompressSync(readFileSync(asset));
      if (content.length !== size || checkOf(content) !== check)
        throw new TableError("unavailable", "the table engine in this svc is damaged: install svc anew");
      writeFile(join(beside, name), content);
    }
    try {
      renameInPlaceSync(beside, target);
    } catch (error) {
      if (isWhole(target, files)) return;
      if (!["ENOTEMPTY", "EEXIST", "EPERM", "EACCES"].includes(systemCode(error) ?? "")) throw error;
      rmSync(target, { recursive: true, force: true });
      renameInPlaceSync(beside, target);
    }
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}

function writeFile(path: string, content: Uint8Array): void {
  const fd = openSync(path, "wx", 0o500);
  try {
    for (let at = 0; at < content.length; ) at += writeSync(fd, content, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Whether the files are there as they were packed, and nobody else can change them. */
function isWhole(folder: string, files: readonly PackedFile[]): boolean {
  try {
    if (!isOwn(folder)) return false;
    return files.every(({ name, size, check }) => {
      const path = join(folder, name);
      return isOwn(path) && statSync(path).size === size && checkOf(readFileSync(path)) === check;
    });
  } catch {
    return false;
  }
}

function isOwn(path: string): boolean {
  if (process.platform === "win32") return true;
  const { uid, mode } = lstatSync(path);
  return uid === process.getuid?.() && (mode & 0o022) === 0;
}

/** The check of a file's content that finds damage; against strangers stands who owns it. */
export function checkOf(content: Uint8Array): string {
  return Bun.hash.xxHash64(content).toString(16).padStart(16, "0");
}
