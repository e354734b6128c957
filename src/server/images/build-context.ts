/** Files of this machine as a build is given them: bounded, digested, and as blocks of a tar. */

import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { readRegularFile } from "../../disk/regular-file.ts";
import { errorText } from "../../domain/error-text.ts";
import { sizeText } from "../../domain/size.ts";
import { tarEntry } from "../../domain/tar/writer.ts";
import { Failure } from "../failure.ts";
import type { ImageFile } from "./image-spec.ts";

/** Most bytes of all files of an image, and of one. */
const MAX_BYTES = 512 * 1024 * 1024;
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/** Files with the digest of each. */
export type DigestedFile = ImageFile & { readonly sha256: string; readonly mode: number };

/** Reads files, by their paths. Rejects with Failure for what cannot be read, or is too much. */
export async function digestFiles(files: readonly ImageFile[], signal: AbortSignal): Promise<DigestedFile[]> {
  let bytes = 0;
  const found: DigestedFile[] = [];
  for (const file of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    signal.throwIfAborted();
    const content = contentOf(file);
    bytes += content.length;
    if (bytes > MAX_BYTES) throw new Failure("invalid_argument", `The files of an image have at most ${sizeText(MAX_BYTES)} in all.`);
    const isProgram = ((statSync(file.source, { throwIfNoEntry: false })?.mode ?? 0) & 0o100) !== 0;
    found.push({ ...file, sha256: sha256(content), mode: isProgram ? 0o755 : 0o644 });
    // A large folder is read in pieces, between which others have their turn.
    await Bun.sleep(0);
  }
  return found;
}

/** The blocks of files in a folder of the context. Throws Failure for one that has changed. */
export async function* blocksOf(folder: string, files: readonly DigestedFile[]): AsyncGenerator<Uint8Array> {
  for (const file of files) {
    const content = contentOf(file);
    if (sha256(content) !== file.sha256)
      throw new Failure("failed_precondition", `The file ${file.path} changed while the image was built.`);
    yield* tarEntry({ path: `${folder}/${file.path}`, content, mode: file.mode, time: 0 });
  }
}

/** A text that is the same for the same files. */
export function digestText(files: readonly DigestedFile[]): string {
  return JSON.stringify(files.map(({ path, sha256: digest, mode }) => [path, digest, mode]));
}

/** The SHA-256 of bytes or of a text, in hex. */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** The bytes of a file. Throws Failure. */
export function contentOf({ path, source }: ImageFile): Buffer {
  let why = "it does not exist";
  try {
    const content = readRegularFile(source, { maxBytes: MAX_FILE_BYTES, followLinks: false });
    if (content) return content;
  } catch (error) {
    why = errorText(error);
  }
  throw new Failure("invalid_argument", `The file ${path} cannot be given to an image: ${why}.`);
}
