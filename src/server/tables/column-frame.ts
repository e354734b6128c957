/**
 * Columns as bytes, between processes: every column by its shape, without a header, because both
 * sides know the shapes. Parts begin at multiples of 8 bytes; numbers are little-endian.
 *
 * | part | bytes |
 * |---|---|
 * | nulls | a 64-bit word: 0 = none; else a bit for each row, set = not null, in such words |
 * | bool | 1 a row |
 * | date | 4 a row |
 * | int64, double, instant | 8 a row |
 * | text, bytes | 32-bit offsets, one more than rows, then the bytes |
 * | list | 32-bit offsets, one more than rows, then the elements as a column |
 * | struct | the fields as columns of as many rows |
 */

/** Writes columns. */
export class FrameWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;

  constructor(capacity = 64 * 1024) {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Everything that was written so far. Valid until more is written. */
  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  get length(): number {
    return this.#length;
  }

  /** Reserves a part of zero bytes and returns its offset. */
  reserve(count: number): number {
    const offset = this.#length;
    this.#grow(offset + ((count + 7) & ~7));
    return offset;
  }

  /** The bytes of a part. Valid until another one is reserved. */
  at(offset: number, count: number): Uint8Array {
    return this.#bytes.subarray(offset, offset + count);
  }

  /** The whole as a view. Valid until another part is reserved. */
  get view(): DataView {
    return this.#view;
  }

  /** A part as 32-bit numbers. Valid until another one is reserved. */
  words(offset: number, count: number): Uint32Array {
    return new Uint32Array(this.#bytes.buffer, offset, count);
  }

  /** Writes the nulls of a column. `isNull` is asked for each row. */
  nulls(rows: number, hasNulls: boolean, isNull: (row: number) => boolean): void {
    const flag = this.reserve(8);
    if (!hasNulls) return;
    this.#bytes[flag] = 1;
    const offset = this.reserve(maskBytes(rows));
    const mask = this.at(offset, maskBytes(rows)).fill(0xff);
    for (let row = 0; row < rows; row++) if (isNull(row)) clearBit(mask, row);
  }

  /** Begins text or bytes of unknown length: room for `count` bytes, at the returned offset. */
  room(count: number): number {
    const offset = this.#length;
    if (offset + count > this.#bytes.length) this.#enlarge(offset + count);
    return offset;
  }

  /** Takes `count` bytes of the room into what is written. */
  take(count: number): void {
    this.#length += count;
  }

  /** Pads to the next part. */
  pad(): void {
    const padded = (this.#length + 7) & ~7;
    if (padded > this.#bytes.length) this.#enlarge(padded);
    this.#bytes.fill(0, this.#length, padded);
    this.#length = padded;
  }

  #grow(length: number): void {
    if (length > this.#bytes.length) this.#enlarge(length);
    this.#bytes.fill(0, this.#length, length);
    this.#length = length;
  }

  #enlarge(needed: number): void {
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/** Bytes of the mask for nulls. */
export function maskBytes(rows: number): number {
  return ((rows + 63) >> 6) << 3;
}

/** Whether the bit of a row is set. */
export function hasBit(mask: Uint8Array, row: number): boolean {
  return (((mask[row >> 3] as number) >> (row & 7)) & 1) === 1;
}

/** Clears the bit of a row. */
export function clearBit(mask: Uint8Array, row: number): void {
  mask[row >> 3] = (mask[row >> 3] as number) & ~(1 << (row & 7));
}

/** Reads columns, part by part in the order in which they were written. */
export class FrameReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  /** @param bytes a frame; it is copied when it begins at no multiple of 8 in its buffer */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
  }

  /** Buffer of the frame, and where a part begins in it. */
  get buffer(): ArrayBuffer {
    return this.#bytes.buffer as ArrayBuffer;
  }

  /** The next part. Throws RangeError when the frame is too short. */
  part(count: number): Uint8Array {
    const padded = (count + 7) & ~7;
    if (this.#at + count > this.#bytes.length) throw new RangeError("a frame of columns is cut off");
    const part = this.#bytes.subarray(this.#at, this.#at + count);
    this.#at += padded;
    return part;
  }

  /** The mask of a column: undefined when no row is null. */
  nulls(rows: number): Uint8Array | undefined {
    return this.part(8)[0] === 0 ? undefined : this.part(maskBytes(rows));
  }

  /** A part of 32-bit numbers. */
  words(count: number): Uint32Array {
    const part = this.part(count * 4);
    return new Uint32Array(part.buffer as ArrayBuffer, part.byteOffset, count);
  }

  /** A part as a view. */
  view(count: number): DataView {
    const part = this.part(count);
    return new DataView(part.buffer as ArrayBuffer, part.byteOffset, count);
  }
}
