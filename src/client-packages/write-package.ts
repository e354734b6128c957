/** Writing a package to a folder. */

import { join } from "node:path";
import type { Context } from "../context/context.ts";
import type { PackageFile } from "./package-file.ts";

/** A package that was written. */
export interface WrittenPackage {
  /** Absolute. */
  readonly path: string;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** Writes a package into a folder, in the place of an older file of its name. */
export async function writtenPackage(
  { flags, machine }: Context,
  folder: string | undefined,
  { content, name }: PackageFile,
): Promise<WrittenPackage> {
  const path = join(folder ?? flags.dir, name);
  await machine.writeFile(path, content);
  return { path, bytes: content.length, sha256: new Bun.CryptoHasher("sha256").update(content).digest("hex") };
}
