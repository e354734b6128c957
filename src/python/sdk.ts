/** The Python package `svc`, which the binary carries and unpacks for interpreters to import. */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { renameInPlace } from "../disk/rename.ts";
import { sdkAssets } from "./baked-sdk-assets.ts";

const files: Readonly<Record<string, string>> = sdkAssets();

/** Paths of the package's files, for example `svc/features.py`. */
export const SDK_FILES: readonly string[] = Object.keys(files);

/** Text of every file of the package, by its path. */
export function sdkFiles(): Readonly<Record<string, string>> {
  return files;
}

/** SHA-256, in hex, of every path and content of the package. */
export function sdkHash(): string {
  const hash = createHash("sha256");
  for (const [path, text] of Object.entries(files)) hash.update(`${path}\0${Buffer.byteLength(text)}\0${text}`);
  return hash.digest("hex");
}

/**
 * Unpacks the package into `<folder>/<hash>/svc` unless it is there, and returns `<folder>/<hash>`.
 * The folder appears complete or not at all, even when several processes unpack at once or one is
 * killed.
 */
export async function unpackSdk(folder: string): Promise<string> {
  const target = join(folder, sdkHash());
  if (existsSync(target)) return target;
  const beside = join(folder, `.unpacking-${process.pid}-${crypto.randomUUID()}`);
  try {
    for (const [path, text] of Object.entries(files)) {
      const file = join(beside, path);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(file, text, { mode: 0o600, flag: "wx" });
    }
    await chmod(beside, 0o700);
    await renameInPlace(beside, target);
  } catch (error) {
    await rm(beside, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}
