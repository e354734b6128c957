/**
 * Writing downloaded bytes to a new file: never more than expected, and kept only when they match
 * the signed hash.
 */

import { constants, createReadStream } from "node:fs";
import { type FileHandle, open, readFile, unlink } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress, constants as zlib } from "node:zlib";
import { systemCode } from "../disk/disk-error.ts";
import type { ReleaseFile } from "../domain/release/manifest.ts";
import { ReleaseError } from "./release-error.ts";

/** Size and hash that a file must have. */
export type Expected = Pick<ReleaseFile, "sha256" | "size">;

/** The encoding of a file's bytes. */
export type Encoding =
  | { readonly kind: "zst" }
  | { readonly kind: "gz" }
  /** `zstd --patch-from` against the file at `base`. */
  | { readonly kind: "delta"; readonly base: string };

/**
 * 2^27 bytes, the default limit of zstd; the window of a patch is as large as the file that it
 * makes.
 */
const WINDOW_LOG = 27;
const PATCH_WINDOW_LOG = 28;
const CHUNK_BYTES = 1024 * 1024;

/** Options of writing a file. */
export interface WriteOptions {
  /** The file's name for messages. */
  readonly name: string;
  /** Whether the file may be executed once it is checked. */
  readonly executable?: boolean;
  /** Called with the number of bytes so far. */
  readonly onBytes?: (total: number) => void;
}

/**
 * Writes `source` to a new file and flushes it. A file that does not match is removed.
 * @throws ReleaseError with release_too_large or release_checksum
 */
export async function writeChecked(
  path: string,
  source: AsyncIterable<Uint8Array>,
  expected: Expected,
  options: WriteOptions,
): Promise<void> {
  const file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0), 0o600);
  let done = false;
  try {
    await copyChecked(file, source, expected, options);
    if (options.executable) await file.chmod(0o755);
    await file.sync();
    done = true;
  } finally {
    await file.close();
    if (!done) await unlink(path).catch(() => {});
  }
}

async function copyChecked(
  file: FileHandle,
  source: AsyncIterable<Uint8Array>,
  expected: Expected,
  { name, onBytes }: WriteOptions,
): Promise<void> {
  const hash = new Bun.CryptoHasher("sha256");
  let size = 0;
  for await (const chunk of source) {
    size += chunk.length;
    if (size > expected.size)
      throw new ReleaseError(`${name} is larger than the ${expected.size} bytes that were signed`, "release_too_large", {
        hint: "Nothing was installed.",
      });
    hash.update(chunk);
    await file.writeFile(chunk);
    onBytes?.(size);
  }
  if (size !== expected.size || hash.digest("hex") !== expected.sha256) {
    throw new ReleaseError(`${name} is not what was signed: its SHA-256 differs`, "release_checksum", {
      hint: "Nothing was installed. It was damaged on its way, or replaced: try again, or name another host with --from.",
    });
  }
}

/**
 * The bytes of a compressed file, decompressed on demand. Throws release_damaged when that fails.
 */
export async function* decompressed(path: string, encoding: Encoding, name: string): AsyncGenerator<Uint8Array> {
  const decoder = await decoderOf(encoding);
  const feeding = pipeline(createReadStream(path, { highWaterMark: CHUNK_BYTES }), decoder).catch(() => {});
  try {
    for await (const chunk of decoder) yield chunk as Uint8Array;
  } catch (error) {
    if (!/^(Z_|ZSTD|ERR_.*(ZLIB|ZSTD|COMPRESS|TRAILING))/.test(systemCode(error) ?? "")) throw error;
    throw new ReleaseError(`${name} cannot be decompressed: ${error instanceof Error ? error.message : error}`, "release_damaged", {
      hint: "Nothing was installed.",
      cause: error,
    });
  } finally {
    decoder.destroy();
    await feeding;
  }
}

async function decoderOf(encoding: Encoding) {
  if (encoding.kind === "gz") return createGunzip({ chunkSize: CHUNK_BYTES });
  const delta = encoding.kind === "delta";
  return createZstdDecompress({
    chunkSize: CHUNK_BYTES,
    params: { [zlib.ZSTD_d_windowLogMax]: delta ? PATCH_WINDOW_LOG : WINDOW_LOG },
    ...(delta ? { dictionary: await readFile(encoding.base) } : {}),
  });
}
