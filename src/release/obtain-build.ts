/**
 * Downloading a release's binary: as a patch of an installed build, compressed, or as it is.
 * Whatever the method, the result is checked against the signed hash.
 */

import { statSync } from "node:fs";
import { fileHash } from "../disk/file-hash.ts";
import { freeBytes } from "../disk/folder-facts.ts";
import type { ReleaseBinary, ReleaseFile } from "../domain/release/manifest.ts";
import { sizeText } from "../domain/size.ts";
import { decompressed, type Encoding, writeChecked } from "./checked-file.ts";
import { buildPath, type InstallFolder, installedBuilds } from "./install-folder.ts";
import { ReleaseError } from "./release-error.ts";
import type { ReleaseFiles } from "./release-files.ts";
import { removeIfPossible, temporaryPath } from "./switch-build.ts";

/** The method by which a build was obtained; `kept` means that it was already installed. */
export type Method = "kept" | "delta" | "zst" | "gz" | "full";

/** The build to obtain, and its source. */
export interface BuildRequest {
  readonly files: ReleaseFiles;
  /** Folder of the release, relative to the origin's base. */
  readonly folder: string;
  readonly binary: ReleaseBinary;
  readonly version: string;
  readonly into: InstallFolder;
  /** Called with the bytes downloaded so far and their total. */
  readonly onProgress: (bytes: number, of: number) => void;
  /** Called with the reason when a method failed and the next one is tried. */
  readonly onFallback: (why: string) => void;
}

/** A build as a checked and flushed file that is not yet at its final path. */
export interface ObtainedBuild {
  readonly path: string;
  readonly method: Exclude<Method, "kept">;
  /** Bytes that were downloaded, including those of failed methods. */
  readonly bytes: number;
}

interface Download {
  readonly method: Exclude<Method, "kept">;
  readonly file: ReleaseFile;
  readonly encoding?: Encoding;
}

/** Space that has to stay free. */
const SPARE_BYTES = 16 * 1024 * 1024;
/**
 * Errors after which the next method is tried: the file is missing or not as expected. When the
 * host cannot be reached, no other file can be downloaded either.
 */
const FALLBACK_CODES = ["release_not_found", "release_checksum", "release_too_large", "release_damaged"];

/** Downloads the binary. Throws ReleaseError with the reason why the first method failed. */
export async function obtainBuild(wanted: BuildRequest): Promise<ObtainedBuild> {
  const downloads = [...(await deltaDownload(wanted)), ...fullDownloads(wanted.binary)];
  requireSpace(wanted.into, wanted.binary.size + Math.max(...downloads.map(({ file, encoding }) => (encoding ? file.size : 0))));
  let bytes = 0;
  let failure: unknown;
  for (const attempt of downloads) {
    let arrived = 0;
    try {
      const path = await download(wanted, attempt, (total) => {
        arrived = total;
        wanted.onProgress(total, attempt.file.size);
      });
      return { path, method: attempt.method, bytes: bytes + arrived };
    } catch (error) {
      if (!(error instanceof ReleaseError) || !FALLBACK_CODES.includes(error.code)) throw error;
      bytes += arrived;
      failure ??= error;
      wanted.onFallback(`${attempt.file.url}: ${error.message}`);
    }
  }
  throw failure;
}

async function deltaDownload({ binary, into }: BuildRequest): Promise<Download[]> {
  if (binary.deltas.length === 0) return [];
  const builds = (await installedBuilds(into)).toSorted((a, b) => Number(b.current) - Number(a.current));
  const paths = [...builds.map(({ path }) => path), into.running];
  for (const path of paths) {
    const offered = binary.deltas.filter(
      ({ from, size }) => (path === into.running || path === buildPath(into, from)) && size < binary.size,
    );
    if (offered.length === 0) continue;
    const hash = await fileHash(path);
    const delta = offered.find(({ from_sha256 }) => from_sha256 === hash);
    if (delta) return [{ method: "delta", file: delta, encoding: { kind: "delta", base: path } }];
  }
  return [];
}

function fullDownloads(binary: ReleaseBinary): Download[] {
  const { zst, gz } = binary.encodings;
  return [
    ...(zst ? [{ method: "zst", file: zst, encoding: { kind: "zst" } } as const] : []),
    ...(gz ? [{ method: "gz", file: gz, encoding: { kind: "gz" } } as const] : []),
    { method: "full", file: binary },
  ];
}

async function download(
  { files, folder, binary, version, into }: BuildRequest,
  { file, encoding }: Download,
  onBytes: (total: number) => void,
): Promise<string> {
  const at = file.url.startsWith("https://") || folder === "" ? file.url : `${folder}/${file.url}`;
  const name = files.nameOf(at);
  const result = temporaryPath(into, "new");
  if (!encoding) {
    await writeChecked(result, files.open(at, file.size), file, { name, executable: true, onBytes });
    return result;
  }
  const compressed = temporaryPath(into, "part");
  try {
    await writeChecked(compressed, files.open(at, file.size), file, { name, onBytes });
    await writeChecked(result, decompressed(compressed, encoding, name), binary, {
      name: `svc ${version} out of ${name}`,
      executable: true,
    });
    return result;
  } finally {
    removeIfPossible(compressed);
  }
}

function requireSpace(folder: InstallFolder, bytes: number): void {
  const free = freeBytes(folder.path);
  if (free === undefined || free >= bytes + SPARE_BYTES) return;
  throw new ReleaseError(`${folder.path} has ${sizeText(free)} of free space; ${sizeText(bytes + SPARE_BYTES)} are needed`, "disk_full", {
    hint: "`svc update --prune` removes old builds.",
  });
}

/** Whether the file at `path` is the signed binary. */
export async function isBinary(path: string, binary: ReleaseFile): Promise<boolean> {
  try {
    return statSync(path).size === binary.size && (await fileHash(path)) === binary.sha256;
  } catch {
    return false;
  }
}
