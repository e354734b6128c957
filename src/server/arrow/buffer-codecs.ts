/** Buffers of Arrow's IPC format that are compressed, each by itself, by LZ4 or Zstandard. */

import { zstdDecompressSync } from "node:zlib";

const LZ4_FRAME = 0;
const ZSTD = 1;

/**
 * A buffer as it was before it was compressed. It begins with its length, or -1 when it is not
 * compressed.
 * @param allow throws when that many bytes more are too many
 * @throws RangeError when it is damaged
 */
export function inflatedBuffer(codec: number, buffer: Uint8Array, allow: (length: number) => void): Uint8Array {
  if (buffer.length === 0) return buffer;
  if (buffer.length < 8) throw new RangeError("a compressed buffer is too short");
  const length = Number(new DataView(buffer.buffer, buffer.byteOffset, 8).getBigInt64(0, true));
  const rest = buffer.subarray(8);
  if (length === -1) return rest;
  if (length < 0) throw new RangeError("a compressed buffer has no length");
  allow(length);
  if (codec === LZ4_FRAME) return inflateLz4(rest, length);
  if (codec !== ZSTD) throw new RangeError(`there is no compression ${codec}`);
  const inflated = inflateZstd(rest, length);
  if (inflated.length !== length) throw new RangeError("a compressed buffer has another length than it says");
  return inflated;
}

function inflateZstd(bytes: Uint8Array, length: number): Uint8Array {
  try {
    return zstdDecompressSync(bytes, { maxOutputLength: Math.max(length, 1) });
  } catch {
    throw new RangeError("a buffer is no Zstandard, or longer than it says");
  }
}

const LZ4_MAGIC = 0x184d2204;
/** The smallest match of LZ4. */
const MIN_MATCH = 4;

/**
 * The content of a frame of LZ4 (version 1.6.4 of its description), whose checksums are not
 * compared. Throws RangeError for anything but `length` bytes.
 */
export function inflateLz4(bytes: Uint8Array, length: number): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out = new Uint8Array(length);
  let filled = 0;
  if (view.getUint32(0, true) !== LZ4_MAGIC) throw new RangeError("a buffer is no LZ4 frame");
  const flags = view.getUint8(4);
  const hasBlockChecksum = (flags & 0x10) !== 0;
  let at = 7 + (flags & 0x08 ? 8 : 0) + (flags & 0x01 ? 4 : 0);
  for (;;) {
    const size = view.getUint32(at, true);
    at += 4;
    if (size === 0) break;
    const isPlain = size >= 0x80000000;
    const end = at + (size % 0x80000000);
    if (end > bytes.length) throw new RangeError("an LZ4 frame is cut");
    if (isPlain) {
      if (filled + (end - at) > length) throw new RangeError("an LZ4 frame is longer than it says");
      out.set(bytes.subarray(at, end), filled);
      filled += end - at;
    } else filled = inflateBlock(bytes.subarray(at, end), out, filled);
    at = end + (hasBlockChecksum ? 4 : 0);
  }
  if (filled !== length) throw new RangeError("an LZ4 frame is shorter than it says");
  return out;
}

/** Puts the content of a block behind what there is; returns the new end. */
function inflateBlock(block: Uint8Array, out: Uint8Array, from: number): number {
  let at = 0;
  let to = from;
  const byte = (): number => {
    const value = block[at++];
    if (value === undefined) throw new RangeError("an LZ4 block is cut");
    return value;
  };
  const longer = (first: number): number => {
    let sum = first;
    if (first === 15)
      for (let more = 255; more === 255; ) {
        more = byte();
        sum += more;
      }
    return sum;
  };
  while (at < block.length) {
    const token = byte();
    const literals = longer(token >> 4);
    if (at + literals > block.length || to + literals > out.length) throw new RangeError("an LZ4 block is longer than it says");
    out.set(block.subarray(at, at + literals), to);
    at += literals;
    to += literals;
    if (at === block.length) break;
    const offset = byte() | (byte() << 8);
    const match = longer(token & 15) + MIN_MATCH;
    if (offset === 0 || offset > to || to + match > out.length) throw new RangeError("an LZ4 block refers to what is not there");
    for (let left = match; left > 0; left--) {
      out[to] = out[to - offset] as number;
      to++;
    }
  }
  return to;
}
