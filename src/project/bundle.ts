/**
 * The source bundle: a gzip-compressed tar (POSIX ustar, with pax headers for names that do not
 * fit). Equal content gives equal bytes: files are sorted, times and owners are zero, and of the
 * mode only "executable" is kept.
 */

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { escapeControls } from "../domain/name.ts";
import { sizeText } from "../domain/size.ts";
import { ArchiveRefused, checkPaths } from "../domain/tar/reader.ts";
import { TAR_END, tarEntry } from "../domain/tar/writer.ts";
import { CliError } from "../errors/cli-error.ts";
import type { ProjectFile, SourceBundle } from "./project.ts";

/** Largest upload, before compression. */
export const LARGEST_BUNDLE = 128 * 1024 * 1024;
/** Size, in bytes, from which a file is pointed out as large. */
const LARGE_FILE = 5e6;
const NAMED_LARGE = 5;

/**
 * The bundle of a folder's files. Throws a CliError that names the largest files when they are too
 * many bytes.
 */
export async function bundleFiles(root: string, files: readonly ProjectFile[], limit = LARGEST_BUNDLE): Promise<SourceBundle> {
  refuseUnpackable(files);
  refuseTooLarge(files, limit);
  const parts: Uint8Array[] = [];
  const packed: ProjectFile[] = [];
  let total = 0;
  for (const file of files) {
    const content = await readFile(join(root, file.path)).catch((error: Error) => {
      throw new CliError(`Cannot read ${file.path}: ${error.message}.`, { code: "unreadable", cause: error });
    });
    const isExecutable = ((await stat(join(root, file.path))).mode & 0o100) !== 0;
    packed.push({ path: file.path, size: content.length });
    total += content.length;
    if (total > limit) refuseTooLarge([...packed, ...files.slice(packed.length)], limit);
    parts.push(...tarEntry({ path: file.path, content, mode: isExecutable ? 0o755 : 0o644, time: 0 }));
  }
  parts.push(TAR_END);
  const bytes = Bun.gzipSync(Buffer.concat(parts), { level: 6 });
  bytes.set([0, 0, 0, 0, 0, 255], 4);
  return { bytes, sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex"), files: packed };
}

/**
 * A check of files: throws a CliError when a server would refuse to unpack them, for a name that
 * means something else elsewhere, or because they are too many.
 */
export function refuseUnpackable(files: readonly ProjectFile[]): void {
  try {
    checkPaths(files.map(({ path }) => path));
  } catch (error) {
    if (!(error instanceof ArchiveRefused)) throw error;
    throw new CliError(`The project cannot be uploaded: ${error.message}.`, {
      code: "bundle_refused",
      hint: "Rename what is meant, or name what the code does not need in .svcignore.",
      cause: error,
    });
  }
}

/**
 * One line that names files of a bundle that are large for source code; undefined when there are
 * none.
 */
export function largeFiles(files: readonly ProjectFile[]): string | undefined {
  const large = files.filter(({ size }) => size >= LARGE_FILE).sort((a, b) => b.size - a.size);
  if (large.length === 0) return undefined;
  const named = large.slice(0, NAMED_LARGE).map(({ path, size }) => `${escapeControls(path)} (${sizeText(size)})`);
  const rest = large.length > NAMED_LARGE ? ` and ${large.length - NAMED_LARGE} more` : "";
  return `large files are part of the source: ${named.join(", ")}${rest}. Name what the code does not need in .svcignore.`;
}

function refuseTooLarge(files: readonly ProjectFile[], limit: number): void {
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total <= limit) return;
  const largest = [...files].sort((a, b) => b.size - a.size || (a.path < b.path ? -1 : 1)).slice(0, 10);
  const lines = largest.map((file) => `  ${mebibytes(file.size).padStart(10)}  ${file.path}`).join("\n");
  throw new CliError(
    `The project's files are ${mebibytes(total)}, more than the ${mebibytes(limit)} that can be uploaded. The largest are:\n${lines}`,
    {
      code: "bundle_too_large",
      hint: "Name what the code does not need in .svcignore.",
      details: { size: total, limit, largest },
    },
  );
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
