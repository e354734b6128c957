/**
 * Messages between a process and its child: a line of JSON, then the bytes that it speaks of. Bytes
 * are never written as JSON: in the line stands where they lie behind it.
 */

/** The most bytes of a message behind its line. */
export const MAX_BODY_BYTES = 512 * 1024 * 1024;
/** The most bytes of a line. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

const NEWLINE = 10;

/** The place of bytes behind the line, in the order of their offsets. */
interface BytesPlace {
  readonly $bytes: readonly [offset: number, length: number];
}

/**
 * The parts of a message: its line, and the byte arrays that are in the value, at any depth.
 * Everything else of the value is plain JSON. Throws RangeError when they are too many.
 */
export function encodeMessage(value: unknown): Uint8Array[] {
  const bodies: Uint8Array[] = [];
  let length = 0;
  const packed = (item: unknown): unknown => {
    if (item instanceof Uint8Array) {
      const place: BytesPlace = { $bytes: [length, item.length] };
      bodies.push(item);
      length += item.length;
      return place;
    }
    if (Array.isArray(item)) return item.map(packed);
    if (item === null || typeof item !== "object") return item;
    return Object.fromEntries(Object.entries(item).map(([name, field]) => [name, packed(field)]));
  };
  const line = JSON.stringify([packed(value), 0]);
  if (length > MAX_BODY_BYTES) throw new RangeError(`a message of ${length} bytes is too large`);
  return [Buffer.from(`${line.slice(0, -2)}${length}]\n`), ...bodies];
}

/** Reads messages from pieces of a stream. */
export class MessageReader {
  #pieces: Uint8Array[] = [];
  #held = 0;
  /** The message whose bytes are still coming, and how many these are. */
  #waiting: { readonly value: unknown; readonly bytes: number } | undefined;

  /**
   * Takes a piece, and calls `take` for each message that it completes. Throws for what is none.
   */
  push(piece: Uint8Array, take: (value: unknown) => void): void {
    this.#pieces.push(piece);
    this.#held += piece.length;
    for (;;) {
      if (!this.#waiting) {
        const end = this.#lineEnd();
        if (end === undefined) return;
        const [value, bytes] = JSON.parse(Buffer.from(this.#take(end + 1)).toString()) as [unknown, number];
        if (bytes > MAX_BODY_BYTES) throw new RangeError(`a message of ${bytes} bytes is too large`);
        this.#waiting = { value, bytes };
      }
      const { value, bytes } = this.#waiting;
      if (this.#held < bytes) return;
      const body = this.#take(bytes);
      this.#waiting = undefined;
      take(bytes === 0 ? value : unpacked(value, body));
    }
  }

  /** Offset of the end of the first line; undefined while it is not there. */
  #lineEnd(): number | undefined {
    let before = 0;
    for (const piece of this.#pieces) {
      const at = piece.indexOf(NEWLINE);
      if (at >= 0) return before + at;
      before += piece.length;
    }
    if (this.#held > MAX_LINE_BYTES) throw new RangeError("a line is too long");
    return undefined;
  }

  /** Removes the first bytes. */
  #take(count: number): Uint8Array {
    const [first] = this.#pieces;
    this.#held -= count;
    if (first && first.length >= count) {
      if (first.length === count) this.#pieces.shift();
      else this.#pieces[0] = first.subarray(count);
      return first.subarray(0, count);
    }
    const all = Buffer.concat(this.#pieces);
    this.#pieces = all.length === count ? [] : [all.subarray(count)];
    return all.subarray(0, count);
  }
}

function unpacked(value: unknown, body: Uint8Array): unknown {
  if (Array.isArray(value)) return value.map((item) => unpacked(item, body));
  if (value === null || typeof value !== "object") return value;
  if ("$bytes" in value) {
    const [offset, length] = (value as BytesPlace).$bytes;
    return body.subarray(offset, offset + length);
  }
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, unpacked(field, body)]));
}
