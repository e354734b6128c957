/**
 * The source bundle: a gzip-compressed tar (POSIX ustar, with pax headers for names that do not fit). Equal content gives equal bytes: files are
 * sorted, times and owners are zero, and of the mode only "executable" is kept.
 */

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveRefused, checkPaths } from "../domain/archive.ts";
import { escapeControls } from "../domain/name.ts";
import { sizeText } from "../domain/size.ts";
import { CliError } from "../errors/cli-error.ts";
import type { ProjectFile, SourceBundle } from "./project.ts";

/** Largest upload, before compression. */
export const LARGEST_BUNDLE = 128 * 1024 * 1024;
/** Size of a file, in bytes, from which on it is pointed out. */
const LARGE_FILE = 5e6;
const NAMED_LARGE = 5;
const BLOCK = 512;

/** Packs files of a folder. Throws a CliError that names the largest files when they are too many bytes. */
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
    parts.push(...entry(file.path, content, isExecutable));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  const bytes = Bun.gzipSync(Buffer.concat(parts), { level: 6 });
  bytes.set([0, 0, 0, 0, 0, 255], 4);
  return { bytes, sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex"), files: packed };
}

/** Throws a CliError when a server would refuse to unpack the files: for a name that means something else elsewhere, or because they are too many. */
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

/** One line that names files of a bundle that are large for source code; undefined when there are none. */
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

function entry(path: string, content: Uint8Array, isExecutable: boolean): Uint8Array[] {
  const mode = isExecutable ? 0o755 : 0o644;
  const name = splitName(path);
  const parts: Uint8Array[] = [];
  if (!name) {
    const pax = paxRecord("path", path);
    parts.push(header({ name: "pax_header", prefix: "" }, pax.length, 0o644, "x"), pax, padding(pax.length));
  }
  parts.push(header(name ?? { name: "long_name", prefix: "" }, content.length, mode, "0"), content, padding(content.length));
  return parts;
}

/** The name as ustar holds it: 100 bytes, behind a prefix of 155; undefined when it does not fit or is not ASCII. */
function splitName(path: string): { name: string; prefix: string } | undefined {
  if (!/^[\x20-\x7e]+$/.test(path)) return undefined;
  if (path.length <= 100) return { name: path, prefix: "" };
  for (let slash = path.indexOf("/"); slash > 0 && slash <= 155; slash = path.indexOf("/", slash + 1))
    if (path.length - slash - 1 <= 100) return { name: path.slice(slash + 1), prefix: path.slice(0, slash) };
  return undefined;
}

function header(name: { name: string; prefix: string }, size: number, mode: number, type: string): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, "0")}\0`;
  block.write(name.name, 0, 100, "latin1");
  block.write(octal(mode, 8), 100, "latin1");
  block.write(octal(0, 8), 108, "latin1");
  block.write(octal(0, 8), 116, "latin1");
  block.write(octal(size, 12), 124, "latin1");
  block.write(octal(0, 12), 136, "latin1");
  block.write("        ", 148, "latin1");
  block.write(type, 156, "latin1");
  block.write("ustar\0" + "00", 257, "latin1");
  block.write(octal(0, 8), 329, "latin1");
  block.write(octal(0, 8), 337, "latin1");
  block.write(name.prefix, 345, 155, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

function paxRecord(key: string, value: string): Uint8Array {
  const body = Buffer.byteLength(` ${key}=${value}\n`);
  let length = body + String(body).length;
  if (body + String(length).length !== length) length = body + String(length).length;
  return Buffer.from(`${length} ${key}=${value}\n`);
}

function padding(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}
