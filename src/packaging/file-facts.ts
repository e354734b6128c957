/** Size and hash of files, as a manifest states them. */

import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileHash } from "../disk/file-hash.ts";
import type { ReleaseFile } from "../domain/release/manifest.ts";

/** The size and hash of a file beside the manifest. */
export async function describeFile(path: string): Promise<ReleaseFile> {
  let size = 0;
  const sha256 = await fileHash(path, (bytes) => {
    size += bytes;
  });
  return { url: basename(path), sha256, size };
}

/** Names of the plain files of a folder, sorted by their bytes. */
export async function fileNames(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();
}

/**
 * The content of `SHA256SUMS` for `sha256sum --check`: the files of the folder whose names `named`
 * accepts.
 */
export async function sumsOf(dir: string, named: (name: string) => boolean): Promise<string> {
  const lines: string[] = [];
  for (const name of await fileNames(dir)) if (named(name)) lines.push(`${(await describeFile(join(dir, name))).sha256}  ${name}\n`);
  return lines.join("");
}
