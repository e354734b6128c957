/**
 * Making a build of the folder current, so that at every moment `svc` is either the old build or
 * the new one.
 */

import { copyFileSync, linkSync, lstatSync, readdirSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { buildInfo } from "../build-info.ts";
import { systemCode } from "../disk/disk-error.ts";
import { syncFile, syncFolder } from "../disk/private-file.ts";
import { renameInPlaceSync } from "../disk/rename.ts";
import { buildPath, currentVersion, type InstallFolder, type Receipt, readReceipt, TEMPORARY_PREFIX } from "./install-folder.ts";

/** A path for a new temporary file of this update. */
export function temporaryPath(folder: InstallFolder, kind: string): string {
  return join(folder.path, `${TEMPORARY_PREFIX}${crypto.randomUUID()}.${kind}${folder.windows ? ".exe" : ""}`);
}

/** Removes the temporary files of killed updates. Only for the holder of the lock. */
export function removeTemporaryFiles(folder: InstallFolder): void {
  for (const name of readdirSync(folder.path)) if (name.startsWith(TEMPORARY_PREFIX)) removeIfPossible(join(folder.path, name));
}

/** Removes a file if possible; on Windows a running one stays until the next update. */
export function removeIfPossible(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!["ENOENT", "EACCES", "EPERM", "EBUSY"].includes(systemCode(error) ?? "")) throw error;
  }
}

/** Moves a checked and flushed file to the path of a version's build. */
export function placeBuild(folder: InstallFolder, temporary: string, version: string): void {
  renameInPlaceSync(temporary, buildPath(folder, version));
  syncFolder(folder.path);
}

/**
 * Makes a version current, and records the previous one. The fields of `receipt` are stored where
 * the receipt does not have them yet.
 */
export async function switchTo(folder: InstallFolder, version: string, receipt: Receipt): Promise<void> {
  adoptPlainFile(folder);
  const before = await currentVersion(folder);
  const known = readReceipt(folder.path);
  const history = [...(known.history ?? []).filter((one) => one !== before), ...(before === undefined ? [] : [before])];
  writeReceipt(folder, { ...receipt, ...known, history: history.slice(-20) });
  if (folder.windows) replaceCopy(folder, version);
  else replaceLink(folder, version);
  syncFolder(folder.path);
}

function writeReceipt(folder: InstallFolder, receipt: Receipt): void {
  const temporary = temporaryPath(folder, "receipt");
  writeFileSync(temporary, `${JSON.stringify(receipt, null, 2)}\n`, { mode: 0o644, flag: "wx" });
  syncFile(temporary);
  renameInPlaceSync(temporary, folder.receipt);
}

function replaceLink(folder: InstallFolder, version: string): void {
  const temporary = temporaryPath(folder, "link");
  symlinkSync(basename(buildPath(folder, version)), temporary);
  try {
    renameSync(temporary, folder.link);
  } catch (error) {
    removeIfPossible(temporary);
    throw error;
  }
}

/** Replaces the copy on Windows, where a running executable cannot be overwritten, but renamed. */
function replaceCopy(folder: InstallFolder, version: string): void {
  const temporary = temporaryPath(folder, "new");
  const aside = temporaryPath(folder, "old");
  copyFileSync(buildPath(folder, version), temporary);
  syncFile(temporary);
  try {
    renameSync(temporary, folder.link);
    return;
  } catch (error) {
    if (!["EACCES", "EPERM", "EBUSY", "EEXIST"].includes(systemCode(error) ?? "")) {
      removeIfPossible(temporary);
      throw error;
    }
  }
  try {
    renameSync(folder.link, aside);
  } catch (error) {
    removeIfPossible(temporary);
    throw error;
  }
  try {
    renameInPlaceSync(temporary, folder.link);
  } catch (error) {
    renameInPlaceSync(aside, folder.link);
    removeIfPossible(temporary);
    throw error;
  }
  removeIfPossible(aside);
}

/**
 * Keeps a build that was put in place of the link by hand: it also gets the name of its version, so
 * that a rollback to it is possible.
 */
function adoptPlainFile(folder: InstallFolder): void {
  if (folder.windows || folder.running !== folder.link) return;
  try {
    if (lstatSync(folder.link).isFile()) linkSync(folder.link, buildPath(folder, buildInfo.version));
  } catch (error) {
    if (!["EEXIST", "ENOENT", "EPERM", "ENOTSUP"].includes(systemCode(error) ?? "")) throw error;
  }
}
