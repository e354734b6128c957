/**
 * Writing tar archives: POSIX ustar (IEEE 1003.1), with pax headers for names that it cannot hold.
 * The same entries give the same bytes.
 */

/** A file of an archive. Folders are made of the paths. */
export interface TarFile {
  /** Relative, with `/`. */
  readonly path: string;
  readonly content: Uint8Array;
  /** Permissions, as 0o644. */
  readonly mode: number;
  /** Milliseconds since 1970, kept to the second. */
  readonly time: number;
}

/** What stands before the bytes of an entry. */
export interface TarHead extends Pick<TarFile, "mode" | "path" | "time"> {
  readonly kind: "file" | "folder" | "link";
  /** Bytes of a file. */
  readonly size: number;
  /** Where a link leads. */
  readonly target?: string;
}

const BLOCK = 512;
const KINDS = { file: "0", link: "2", folder: "5" } as const;
const PAX_HEADER = "x";
const MAX_LINK = 100;
/** Largest size that a head holds by itself. */
const MAX_SIZE = 0o77777777777;

/** The end of an archive: two empty blocks. */
export const TAR_END: Uint8Array = new Uint8Array(2 * BLOCK);

/** The blocks of one file, to be written one after the other. */
export function tarEntry({ content, ...file }: TarFile): Uint8Array[] {
  return [...tarHead({ ...file, kind: "file", size: content.length }), content, tarPadding(content.length)];
}

/** The blocks before the bytes of an entry, after which `tarPadding` follows. */
export function tarHead({ kind, mode, path, size, target = "", time }: TarHead): Uint8Array[] {
  const name = splitName(path);
  const isPlainTarget = target.length <= MAX_LINK && /^[\x20-\x7e]*$/.test(target);
  const records = [
    ...(name ? [] : [paxRecord("path", path)]),
    ...(isPlainTarget ? [] : [paxRecord("linkpath", target)]),
    ...(size <= MAX_SIZE ? [] : [paxRecord("size", String(size))]),
  ];
  const parts: Uint8Array[] = [];
  if (records.length > 0) {
    const pax = Buffer.concat(records);
    parts.push(header({ name: "pax_header", prefix: "" }, pax.length, 0o644, time, PAX_HEADER), pax, tarPadding(pax.length));
  }
  const link = isPlainTarget ? target : "long_link";
  parts.push(header(name ?? { name: "long_name", prefix: "" }, size <= MAX_SIZE ? size : 0, mode, time, KINDS[kind], link));
  return parts;
}

/**
 * The name as ustar holds it: 100 bytes, behind a prefix of 155; undefined when it does not fit or
 * is not ASCII.
 */
function splitName(path: string): { name: string; prefix: string } | undefined {
  if (!/^[\x20-\x7e]+$/.test(path)) return undefined;
  if (path.length <= 100) return { name: path, prefix: "" };
  for (let slash = path.indexOf("/"); slash > 0 && slash <= 155; slash = path.indexOf("/", slash + 1))
    if (path.length - slash - 1 <= 100) return { name: path.slice(slash + 1), prefix: path.slice(0, slash) };
  return undefined;
}

function header(name: { name: string; prefix: string }, size: number, mode: number, time: number, type: string, link = ""): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, "0")}\0`;
  block.write(name.name, 0, 100, "latin1");
  block.write(octal(mode, 8), 100, "latin1");
  block.write(octal(0, 8), 108, "latin1");
  block.write(octal(0, 8), 116, "latin1");
  block.write(octal(size, 12), 124, "latin1");
  block.write(octal(Math.floor(time / 1000), 12), 136, "latin1");
  block.write("        ", 148, "latin1");
  block.write(type, 156, "latin1");
  block.write(link, 157, MAX_LINK, "latin1");
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

/** The bytes that follow those of a file. */
export function tarPadding(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}
