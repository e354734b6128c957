/**
 * Unpacking a source bundle, a gzip-compressed tar that a client made and that is not trusted: only plain files and folders below the target, within limits on
 * number and size, read as a stream. Anything else refuses the whole bundle, and nothing of it stays.
 */

import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** The bundle is damaged, too big, or names something that it may not. */
export class BundleRefused extends Error {
  override readonly name = "BundleRefused";
}

/** Limits of a bundle. */
export interface BundleLimits {
  readonly maxFiles: number;
  /** Bytes of all files, unpacked. */
  readonly maxBytes: number;
}

/** 50,000 files and 1 GiB. */
export const BUNDLE_LIMITS: BundleLimits = { maxFiles: 50_000, maxBytes: 1024 * 1024 * 1024 };

const BLOCK = 512;
const MAX_PATH_BYTES = 1024;
const MAX_HEADER_BYTES = 64 * 1024;
const REFUSED_KINDS: Readonly<Record<string, string>> = {
  "1": "a hard link",
  "2": "a symbolic link",
  "3": "a character device",
  "4": "a block device",
  "6": "a named pipe",
};

/**
 * Unpacks into `target`, which must not exist; it appears whole or not at all. Files get mode 0600, folders 0700.
 * @returns paths of the files relative to the target, sorted
 * @throws BundleRefused
 */
export async function unpackBundle(archive: Blob, target: string, limits: BundleLimits = BUNDLE_LIMITS): Promise<string[]> {
  const partial = `${target}.partial`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true, mode: 0o700 });
  try {
    const paths = await extract(archive, partial, limits);
    await rename(partial, target);
    return paths.sort();
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    if (error instanceof BundleRefused) throw error;
    const { code, message } = error as { code?: unknown; message?: unknown };
    if (typeof code === "string" && /^(Z_|ERR_.*(ZLIB|COMPRESS|TRAILING))/.test(code)) throw new BundleRefused(`the bundle is not a whole gzip file: ${String(message)}`);
    throw error;
  }
}

async function extract(archive: Blob, folder: string, limits: BundleLimits): Promise<string[]> {
  const bytes = new ByteSource(decompressed(archive));
  const seen = new Map<string, "file" | "folder">();
  const files: string[] = [];
  let total = 0;
  let longPath: string | undefined;
  for (;;) {
    const header = await bytes.take(BLOCK);
    if (header === undefined) throw new BundleRefused("the bundle ends in the middle");
    if (header.every((byte) => byte === 0)) break;
    const entry = readHeader(header);
    const path = longPath ?? entry.path;
    longPath = undefined;
    if (entry.kind === "x" || entry.kind === "L") {
      if (entry.size > MAX_HEADER_BYTES) throw new BundleRefused("the bundle has a header that is too long");
      const content = await bytes.takePadded(entry.size);
      longPath = entry.kind === "L" ? text(content).replace(/\0.*$/s, "") : (paxPath(content) ?? undefined);
      continue;
    }
    if (entry.kind === "g") {
      if (entry.size > MAX_HEADER_BYTES) throw new BundleRefused("the bundle has a header that is too long");
      await bytes.takePadded(entry.size);
      longPath = path === entry.path ? undefined : path;
      continue;
    }
    const shown = JSON.stringify(path);
    const refused = REFUSED_KINDS[entry.kind];
    if (refused) throw new BundleRefused(`${shown} is ${refused}; a bundle may hold files and folders only`);
    if (entry.kind !== "0" && entry.kind !== "5") throw new BundleRefused(`${shown} is of a kind that a bundle may not hold`);
    if (entry.kind === "5" && /^\.\/?$/.test(path)) continue;
    const segments = safeSegments(path);
    if (seen.size >= limits.maxFiles) throw new BundleRefused(`the bundle has more than ${limits.maxFiles} files`);
    if (entry.kind === "5") {
      await makeFolders(folder, segments, seen);
      continue;
    }
    total += entry.size;
    if (total > limits.maxBytes) throw new BundleRefused(`the bundle's files are larger than ${limits.maxBytes} bytes`);
    const name = segments.join("/");
    if (seen.has(name)) throw new BundleRefused(`${shown} is in the bundle twice`);
    await makeFolders(folder, segments.slice(0, -1), seen);
    seen.set(name, "file");
    files.push(name);
    await writeEntry(bytes, join(folder, ...segments), entry.size);
  }
  return files;
}

async function makeFolders(root: string, segments: readonly string[], seen: Map<string, "file" | "folder">): Promise<void> {
  for (let length = 1; length <= segments.length; length++) {
    const name = segments.slice(0, length).join("/");
    const kind = seen.get(name);
    if (kind === "file") throw new BundleRefused(`${JSON.stringify(name)} is both a file and a folder in the bundle`);
    if (kind === "folder") continue;
    await mkdir(join(root, name), { mode: 0o700 });
    seen.set(name, "folder");
  }
}

async function writeEntry(bytes: ByteSource, path: string, size: number): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    for (let rest = size; rest > 0; ) {
      const chunk = await bytes.some(rest);
      if (chunk === undefined) throw new BundleRefused("the bundle ends in the middle of a file");
      await file.writeFile(chunk);
      rest -= chunk.length;
    }
  } finally {
    await file.close();
  }
  await bytes.skip((BLOCK - (size % BLOCK)) % BLOCK);
}

function safeSegments(path: string): string[] {
  const shown = JSON.stringify(path);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw new BundleRefused(`the path ${shown.slice(0, 100)}... is too long`);
  if (/[\u0000-\u001f\u007f\\]/.test(path)) throw new BundleRefused(`the path ${shown} has characters that a path in a bundle may not have`);
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) throw new BundleRefused(`the path ${shown} is absolute`);
  const segments = path.replace(/^(\.\/)+/, "").replace(/\/$/, "").split("/");
  for (const segment of segments) {
    if (segment === "..") throw new BundleRefused(`the path ${shown} leads out of the bundle`);
    if (segment === "" || segment === ".") throw new BundleRefused(`the path ${shown} is not in its plain form`);
  }
  return segments;
}

interface Header {
  readonly path: string;
  readonly size: number;
  readonly kind: string;
}

function readHeader(block: Uint8Array): Header {
  const stored = Number.parseInt(field(block, 148, 8).trim() || "x", 8);
  let sum = 8 * 32;
  for (let i = 0; i < BLOCK; i++) if (i < 148 || i >= 156) sum += block[i] ?? 0;
  if (sum !== stored) throw new BundleRefused("the bundle is not a tar archive, or is damaged");
  const size = Number.parseInt(field(block, 124, 12).trim() || "0", 8);
  if (!Number.isSafeInteger(size) || size < 0) throw new BundleRefused("the bundle has a file of no known size");
  const flag = block[156] ?? 0;
  const prefix = field(block, 257, 5) === "ustar" ? field(block, 345, 155) : "";
  const name = field(block, 0, 100);
  return { path: prefix === "" ? name : `${prefix}/${name}`, size, kind: flag === 0 ? "0" : String.fromCharCode(flag) };
}

function field(block: Uint8Array, start: number, length: number): string {
  const part = block.subarray(start, start + length);
  const end = part.indexOf(0);
  return text(end < 0 ? part : part.subarray(0, end));
}

function text(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new BundleRefused("the bundle has a path that is not UTF-8");
  }
}

function paxPath(content: Uint8Array): string | undefined {
  let path: string | undefined;
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(32, at);
    const length = Number(text(content.subarray(at, Math.max(at, space))));
    if (space < 0 || !Number.isInteger(length) || length <= 0 || at + length > content.length) throw new BundleRefused("the bundle has a damaged header");
    const record = text(content.subarray(space + 1, at + length - 1));
    if (record.startsWith("path=")) path = record.slice(5);
    if (record.startsWith("linkpath=") || record.startsWith("size=")) throw new BundleRefused("the bundle has a header that is not allowed");
    at += length;
  }
  return path;
}

async function* decompressed(archive: Blob): AsyncIterable<Uint8Array> {
  const { createGunzip } = await import("node:zlib");
  const { Readable } = await import("node:stream");
  const source = Readable.from(archive.stream() as unknown as AsyncIterable<Uint8Array>);
  const gunzip = createGunzip();
  source.on("error", (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

class ByteSource {
  private readonly chunks: AsyncIterator<Uint8Array>;
  private rest: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.chunks = source[Symbol.asyncIterator]();
  }

  /** Between 1 and `most` bytes, or undefined at the end. */
  async some(most: number): Promise<Uint8Array | undefined> {
    while (this.rest.length === 0) {
      const { done, value } = await this.chunks.next();
      if (done) return undefined;
      this.rest = value;
    }
    const part = this.rest.subarray(0, most);
    this.rest = this.rest.subarray(part.length);
    return part;
  }

  /** Exactly `length` bytes, or undefined when fewer are left. */
  async take(length: number): Promise<Uint8Array | undefined> {
    const whole = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      const part = await this.some(length - at);
      if (part === undefined) return undefined;
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  async takePadded(length: number): Promise<Uint8Array> {
    const content = await this.take(length);
    if (content === undefined) throw new BundleRefused("the bundle ends in the middle");
    await this.skip((BLOCK - (length % BLOCK)) % BLOCK);
    return content;
  }

  async skip(length: number): Promise<void> {
    if (length > 0 && (await this.take(length)) === undefined) throw new BundleRefused("the bundle ends in the middle");
  }
}
