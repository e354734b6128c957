/** Tar archives made block by block, for tests of what reads them. */

import { gzipSync } from "node:zlib";

const encoder = new TextEncoder();

/** What a header says. */
export interface Entry {
  readonly name: string;
  readonly content?: string | Uint8Array;
  readonly kind?: string;
  readonly link?: string;
  readonly prefix?: string;
  /** The field of the size, when it is not the content's. */
  readonly size?: string;
}

/** One entry, written here so that any header can be made. */
export function entry({ name, content = "", kind = "0", link = "", prefix = "", size }: Entry): Uint8Array {
  const bytes = typeof content === "string" ? encoder.encode(content) : content;
  const block = new Uint8Array(512 + Math.ceil(bytes.length / 512) * 512);
  const put = (text: string, at: number) => block.set(encoder.encode(text), at);
  put(name, 0);
  put("0000644\0", 100);
  put(size ?? `${bytes.length.toString(8).padStart(11, "0")}\0`, 124);
  put("        ", 148);
  put(kind, 156);
  put(link, 157);
  put("ustar\u000000", 257);
  put(prefix, 345);
  const sum = block.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  block.set(bytes, 512);
  return block;
}

/** A pax header that gives the next entry its path. */
export function pax(path: string): Uint8Array {
  const record = (length: number) => `${length} path=${path}\n`;
  let length = encoder.encode(record(0)).length;
  while (encoder.encode(record(length)).length !== length) length = encoder.encode(record(length)).length;
  return entry({ name: "pax", kind: "x", content: record(length) });
}

/** The entries with the end behind them, compressed. */
export function bundle(...entries: readonly Uint8Array[]): Blob {
  return new Blob([gzipSync(Buffer.concat([...entries, new Uint8Array(1024)]))]);
}
