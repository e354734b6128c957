/**
 * Code signatures of Mach-O files. macOS on arm64 kills a process whose file has none, and every
 * macOS one whose signature is invalid. Each build is therefore checked, and signed ad hoc (without
 * an identity, which is enough to run) when the compiler left no valid signature. Formats:
 * <mach-o/loader.h> and <kern/cs_blobs.h> of xnu.
 */

import { createHash } from "node:crypto";
import { chmod, readFile, rename, writeFile } from "node:fs/promises";
import { PackagingError } from "./packaging-error.ts";

const MAGIC_64 = 0xfeedfacf;
const HEADER_BYTES = 32;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;

const EMBEDDED_SIGNATURE = 0xfade0cc0;
const CODE_DIRECTORY = 0xfade0c02;
const CODE_DIRECTORY_SLOT = 0;
/** The first version with the fields of the executable segment. */
const VERSION_WITH_EXEC_SEGMENT = 0x20400;
const CODE_DIRECTORY_BYTES = 88;
const FLAGS_ADHOC_LINKER_SIGNED = 0x20002;
const EXEC_SEGMENT_IS_MAIN_BINARY = 1n;
const HASH_SHA256 = 2;
const HASH_BYTES = 32;
const PAGE_LOG = 12;
const PAGE_BYTES = 1 << PAGE_LOG;
/** The alignment of segments in memory, on the machines with larger pages. */
const SEGMENT_ALIGNMENT = 16_384n;

interface Layout {
  /** Offset of the signature's load command. */
  readonly command: number;
  /** Offset of the signature, and its size in bytes. */
  readonly at: number;
  readonly size: number;
  /** Offset of the load command of the file's last segment, which contains the signature. */
  readonly linkedit: number;
  /** Size of the executable segment in bytes. */
  readonly textBytes: bigint;
}

/**
 * The reason why macOS would not run the file; undefined when its signature is valid for every
 * page.
 */
export function signatureFault(file: Buffer): string | undefined {
  const { at, size } = layoutOf(file);
  if (at + size !== file.length) return "the signature is not at the end";
  if (file.readUInt32BE(at) !== EMBEDDED_SIGNATURE) return "there is no signature";
  const directory = directoryAt(file, at);
  if (directory === undefined) return "the signature has no code directory";
  const field = (offset: number) => file.readUInt32BE(directory + offset);
  const [hashOffset, pages, limit] = [field(16), field(28), field(32)];
  const [hashBytes, hashType, , pageLog] = [...file.subarray(directory + 36, directory + 40)];
  if (hashBytes !== HASH_BYTES || hashType !== HASH_SHA256 || pageLog !== PAGE_LOG) return "the signature's hashes are of another kind";
  if (limit !== at || pages !== Math.ceil(limit / PAGE_BYTES)) return "the signature covers another length";
  for (let page = 0; page < pages; page++) {
    const wanted = file.subarray(directory + hashOffset + page * HASH_BYTES, directory + hashOffset + (page + 1) * HASH_BYTES);
    if (!pageHash(file, page, limit).equals(wanted)) return `page ${page} was changed after it was signed`;
  }
  return undefined;
}

/** The file with a new ad hoc signature. `identifier` names the program in it. */
export function signedAdHoc(file: Buffer, identifier: string): Buffer {
  const { command, at, linkedit, textBytes } = layoutOf(file);
  const pages = Math.ceil(at / PAGE_BYTES);
  const name = Buffer.from(`${identifier}\0`);
  const hashOffset = CODE_DIRECTORY_BYTES + name.length;
  const directoryBytes = hashOffset + pages * HASH_BYTES;
  const headBytes = 20;
  const size = Math.ceil((headBytes + directoryBytes) / 16) * 16;

  const signed = Buffer.alloc(at + size);
  file.copy(signed, 0, 0, at);
  signed.writeUInt32LE(size, command + 12);
  const linkeditBytes = BigInt(at + size) - signed.readBigUInt64LE(linkedit + 40);
  signed.writeBigUInt64LE(((linkeditBytes + SEGMENT_ALIGNMENT - 1n) / SEGMENT_ALIGNMENT) * SEGMENT_ALIGNMENT, linkedit + 32);
  signed.writeBigUInt64LE(linkeditBytes, linkedit + 48);

  writeNumbers(signed, at, [EMBEDDED_SIGNATURE, headBytes + directoryBytes, 1, CODE_DIRECTORY_SLOT, headBytes]);
  const directory = at + headBytes;
  const specialSlots = 0;
  writeNumbers(signed, directory, [
    CODE_DIRECTORY,
    directoryBytes,
    VERSION_WITH_EXEC_SEGMENT,
    FLAGS_ADHOC_LINKER_SIGNED,
    hashOffset,
    CODE_DIRECTORY_BYTES,
    specialSlots,
    pages,
    at,
  ]);
  signed.set([HASH_BYTES, HASH_SHA256, 0, PAGE_LOG], directory + 36);
  signed.writeBigUInt64BE(0n, directory + 64);
  signed.writeBigUInt64BE(textBytes, directory + 72);
  signed.writeBigUInt64BE(EXEC_SEGMENT_IS_MAIN_BINARY, directory + 80);
  name.copy(signed, directory + CODE_DIRECTORY_BYTES);
  for (let page = 0; page < pages; page++) pageHash(signed, page, at).copy(signed, directory + hashOffset + page * HASH_BYTES);
  return signed;
}

/** Signs the file when its signature is invalid, so that macOS runs it. Throws PackagingError. */
export async function ensureSigned(path: string): Promise<void> {
  const file = await readFile(path);
  if (signatureFault(file) === undefined) return;
  const signed = signedAdHoc(file, "svc");
  const fault = signatureFault(signed);
  if (fault !== undefined) throw new PackagingError(`${path} cannot be signed: ${fault}`);
  await writeFile(`${path}.signed`, signed);
  await chmod(`${path}.signed`, 0o755);
  await rename(`${path}.signed`, path);
}

function layoutOf(file: Buffer): Layout {
  if (file.length < HEADER_BYTES || file.readUInt32LE(0) !== MAGIC_64) throw new PackagingError("this is no Mach-O file of 64 bits");
  let [command, linkedit, textBytes] = [0, 0, 0n];
  let offset = HEADER_BYTES;
  for (let left = file.readUInt32LE(16); left > 0; left--) {
    const kind = file.readUInt32LE(offset);
    if (kind === LC_CODE_SIGNATURE) command = offset;
    if (kind === LC_SEGMENT_64) {
      const name = file.toString("latin1", offset + 8, offset + 24).replace(/\0+$/, "");
      if (name === "__LINKEDIT") linkedit = offset;
      if (name === "__TEXT") textBytes = file.readBigUInt64LE(offset + 48);
    }
    offset += file.readUInt32LE(offset + 4);
  }
  if (command === 0 || linkedit === 0) throw new PackagingError("this Mach-O file has no place for a signature");
  return { command, linkedit, textBytes, at: file.readUInt32LE(command + 8), size: file.readUInt32LE(command + 12) };
}

function directoryAt(file: Buffer, at: number): number | undefined {
  for (let slot = 0; slot < file.readUInt32BE(at + 8); slot++) {
    const start = at + file.readUInt32BE(at + 16 + 8 * slot);
    if (file.readUInt32BE(at + 12 + 8 * slot) === CODE_DIRECTORY_SLOT && file.readUInt32BE(start) === CODE_DIRECTORY) return start;
  }
  return undefined;
}

function pageHash(file: Buffer, page: number, limit: number): Buffer {
  return createHash("sha256")
    .update(file.subarray(page * PAGE_BYTES, Math.min(limit, (page + 1) * PAGE_BYTES)))
    .digest();
}

function writeNumbers(file: Buffer, at: number, numbers: readonly number[]): void {
  for (const [index, number] of numbers.entries()) file.writeUInt32BE(number, at + 4 * index);
}
