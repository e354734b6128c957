/**
 * The reading of a tar archive that is not trusted, as a stream: plain files and folders below one
 * root, each path once and in its plain form, within limits on number and size. Anything else
 * refuses the whole archive. The caller writes the entries to wherever they belong.
 */

import { isPortableName } from "../portable-name.ts";

/** The error of an archive that is damaged, too big, or has a name that is not allowed. */
export class ArchiveRefused extends Error {
  override readonly name = "ArchiveRefused";
}

/** What an archive has beside files and folders, and is left out of it. */
export interface LeftOut {
  readonly path: string;
  /** For example `a symbolic link`. */
  readonly what: string;
}

/** Limits of an archive. */
export interface ArchiveLimits {
  /** Files and folders. */
  readonly maxEntries: number;
  /** Bytes of all files, unpacked. */
  readonly maxBytes: number;
  /**
   * Whether names that differ in case are the same, and those are refused that Windows reads in
   * another way (`CON`, `a:b`, `a.`). Default false.
   */
  readonly portableNames?: boolean;
  /** Told of links and devices, which are left out then; default: they refuse the archive. */
  readonly onLeftOut?: (entry: LeftOut) => void;
}

/** 50,000 entries and 1 GiB. */
export const ARCHIVE_LIMITS: ArchiveLimits = { maxEntries: 50_000, maxBytes: 1024 * 1024 * 1024 };

/**
 * A file or folder of an archive. Folders that an archive leaves out come before what is in them.
 */
export type ArchiveEntry =
  | { readonly kind: "folder"; readonly path: string }
  | {
      readonly kind: "file";
      /** Relative, with `/`. */
      readonly path: string;
      readonly size: number;
      /** Permissions, as 0o644. */
      readonly mode: number;
      /** The bytes; what is not read is skipped when the next entry is asked for. */
      content(): AsyncIterable<Uint8Array>;
    };

const BLOCK = 512;
const MAX_PATH_BYTES = 1024;
/** Longest name of a file or folder that common file systems take. */
const MAX_NAME_BYTES = 255;
const MAX_HEADER_BYTES = 64 * 1024;
/** Most zeros behind the last entry, which archivers use to fill up the end. */
const MAX_PADDING_BYTES = 1024 * 1024;
const REFUSED_KINDS: Readonly<Record<string, string>> = {
  "1": "a hard link",
  "2": "a symbolic link",
  "3": "a character device",
  "4": "a block device",
  "6": "a named pipe",
};

/** The entries of a tar archive in order. Throws ArchiveRefused. */
export async function* readArchive(chunks: AsyncIterable<Uint8Array>, limits: ArchiveLimits = ARCHIVE_LIMITS): AsyncIterable<ArchiveEntry> {
  const bytes = new ByteSource(chunks);
  const seen = new Entries(limits);
  let total = 0;
  let longPath: string | undefined;
  for (;;) {
    const header = await bytes.take(BLOCK);
    if (header === undefined) throw new ArchiveRefused("the archive ends in the middle");
    if (header.every((byte) => byte === 0)) return bytes.drain(MAX_PADDING_BYTES);
    const entry = readHeader(header);
    if (entry.kind === "x" || entry.kind === "L" || entry.kind === "g") {
      if (entry.size > MAX_HEADER_BYTES) throw new ArchiveRefused("the archive has a header that is too long");
      const content = await bytes.takePadded(entry.size);
      if (entry.kind === "L") longPath = text(content).replace(/\0.*$/s, "");
      if (entry.kind === "x") longPath = paxPath(content, limits.onLeftOut !== undefined) ?? longPath;
      continue;
    }
    if (entry.kind === "K" && limits.onLeftOut) {
      if (entry.size > MAX_HEADER_BYTES) throw new ArchiveRefused("the archive has a header that is too long");
      await bytes.takePadded(entry.size);
      continue;
    }
    const path = longPath ?? entry.path;
    longPath = undefined;
    const shown = JSON.stringify(path);
    const refused = REFUSED_KINDS[entry.kind];
    if (refused && limits.onLeftOut && entry.size === 0) {
      seen.count();
      limits.onLeftOut({ path, what: refused });
      continue;
    }
    if (refused) throw new ArchiveRefused(`${shown} is ${refused}; only files and folders are taken`);
    if (entry.kind !== "0" && entry.kind !== "5") throw new ArchiveRefused(`${shown} is of a kind that is not taken`);
    if (entry.kind === "5" && /^\.\/?$/.test(path)) continue;
    const segments = safeSegments(path, limits.portableNames ?? false);
    const name = segments.join("/");
    for (const folder of seen.addFolders(entry.kind === "5" ? segments : segments.slice(0, -1))) yield { kind: "folder", path: folder };
    if (entry.kind === "5") continue;
    seen.addFile(name);
    total += entry.size;
    if (total > limits.maxBytes) throw new ArchiveRefused(`the archive's files are larger than ${limits.maxBytes} bytes`);
    let left = entry.size;
    const content = async function* (): AsyncIterable<Uint8Array> {
      while (left > 0) {
        const chunk = await bytes.some(left);
        if (chunk === undefined) throw new ArchiveRefused("the archive ends in the middle of a file");
        left -= chunk.length;
        yield chunk;
      }
    };
    yield { kind: "file", path: name, size: entry.size, mode: entry.mode, content };
    for await (const _ of content());
    await bytes.skip((BLOCK - (entry.size % BLOCK)) % BLOCK);
  }
}

/**
 * A check of paths: throws ArchiveRefused when `readArchive` would refuse an archive of files with
 * these paths, whatever is in them.
 */
export function checkPaths(paths: Iterable<string>, limits: ArchiveLimits = ARCHIVE_LIMITS): void {
  const seen = new Entries(limits);
  for (const path of paths) {
    const segments = safeSegments(path, limits.portableNames ?? false);
    seen.addFolders(segments.slice(0, -1));
    seen.addFile(path);
  }
}

class Entries {
  private readonly kinds = new Map<string, "file" | "folder">();

  private others = 0;

  constructor(private readonly limits: ArchiveLimits) {}

  /** Counts an entry that is left out. */
  count(): void {
    this.checkCount();
    this.others++;
  }

  addFile(path: string): void {
    if (this.kinds.has(this.key(path))) throw new ArchiveRefused(`${JSON.stringify(path)} is in the archive twice`);
    this.add(path, "file");
  }

  /** Adds a folder and those that it is in; gives the paths of those that are new. */
  addFolders(segments: readonly string[]): string[] {
    const paths = segments.map((_, index) => segments.slice(0, index + 1).join("/"));
    return paths.filter((path) => {
      const kind = this.kinds.get(this.key(path));
      if (kind === "file") throw new ArchiveRefused(`${JSON.stringify(path)} is both a file and a folder in the archive`);
      if (kind === undefined) this.add(path, "folder");
      return kind === undefined;
    });
  }

  private add(path: string, kind: "file" | "folder"): void {
    this.checkCount();
    this.kinds.set(this.key(path), kind);
  }

  private checkCount(): void {
    const { maxEntries } = this.limits;
    if (this.kinds.size + this.others >= maxEntries) throw new ArchiveRefused(`the archive has more than ${maxEntries} entries`);
  }

  private key(path: string): string {
    return this.limits.portableNames ? path.normalize("NFC").toLowerCase() : path;
  }
}

function safeSegments(path: string, portable: boolean): string[] {
  const shown = JSON.stringify(path);
  if (new TextEncoder().encode(path).length > MAX_PATH_BYTES) throw new ArchiveRefused(`the path ${shown.slice(0, 100)}... is too long`);
  if (/[\u0000-\u001f\u007f\\]/.test(path)) throw new ArchiveRefused(`the path ${shown} has characters that a path may not have`);
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) throw new ArchiveRefused(`the path ${shown} is absolute`);
  const segments = path
    .replace(/^(\.\/)+/, "")
    .replace(/\/$/, "")
    .split("/");
  for (const segment of segments) {
    if (segment === "..") throw new ArchiveRefused(`the path ${shown} leads out of the archive's root`);
    if (segment === "" || segment === ".") throw new ArchiveRefused(`the path ${shown} is not in its plain form`);
    if (new TextEncoder().encode(segment).length > MAX_NAME_BYTES)
      throw new ArchiveRefused(`the name ${JSON.stringify(segment).slice(0, 100)}... is too long`);
    if (portable && !isPortableName(segment)) throw new ArchiveRefused(`the path ${shown} means something else on this system`);
  }
  return segments;
}

interface Header {
  readonly path: string;
  readonly size: number;
  readonly mode: number;
  readonly kind: string;
}

function readHeader(block: Uint8Array): Header {
  const stored = Number.parseInt(field(block, 148, 8).trim() || "x", 8);
  let sum = 8 * 32;
  for (let i = 0; i < BLOCK; i++) if (i < 148 || i >= 156) sum += block[i] ?? 0;
  if (sum !== stored) throw new ArchiveRefused("this is not a tar archive, or it is damaged");
  const digits = field(block, 124, 12).trim();
  if (!/^[0-7]*$/.test(digits)) throw new ArchiveRefused("the archive has a file of no known size");
  const size = Number.parseInt(digits || "0", 8);
  const flag = block[156] ?? 0;
  const prefix = field(block, 257, 5) === "ustar" ? field(block, 345, 155) : "";
  const name = field(block, 0, 100);
  return {
    path: prefix === "" ? name : `${prefix}/${name}`,
    size,
    mode: Number.parseInt(field(block, 100, 8), 8) & 0o777,
    kind: flag === 0 ? "0" : String.fromCharCode(flag),
  };
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
    throw new ArchiveRefused("the archive has a path that is not UTF-8");
  }
}

/** The path that a pax header gives. @param ofLinks whether it may be one of a link */
function paxPath(content: Uint8Array, ofLinks: boolean): string | undefined {
  let path: string | undefined;
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(32, at);
    const length = Number(text(content.subarray(at, Math.max(at, space))));
    if (space < 0 || !Number.isInteger(length) || length <= 0 || at + length > content.length)
      throw new ArchiveRefused("the archive has a damaged header");
    const record = text(content.subarray(space + 1, at + length - 1));
    if (record.startsWith("path=")) path = record.slice(5);
    if ((record.startsWith("linkpath=") && !ofLinks) || record.startsWith("size="))
      throw new ArchiveRefused("the archive has a header that is not taken");
    at += length;
  }
  return path;
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
    if (content === undefined) throw new ArchiveRefused("the archive ends in the middle");
    await this.skip((BLOCK - (length % BLOCK)) % BLOCK);
    return content;
  }

  /** Reads to the end, so that a source that checks itself (gzip) has done so. */
  async drain(most: number): Promise<void> {
    for (let read = 0; ; ) {
      const part = await this.some(most);
      if (part === undefined) return;
      read += part.length;
      if (read > most) throw new ArchiveRefused("the archive goes on after its end");
    }
  }

  async skip(length: number): Promise<void> {
    if (length > 0 && (await this.take(length)) === undefined) throw new ArchiveRefused("the archive ends in the middle");
  }
}
