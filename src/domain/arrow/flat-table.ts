/** A reader of FlatBuffers. What lies outside of the buffer makes it throw RangeError. */

/** A table in a buffer. */
export class FlatTable {
  readonly #view: DataView;
  readonly #at: number;

  constructor(view: DataView, at: number) {
    this.#view = view;
    this.#at = at;
  }

  /** The root of a buffer. */
  static root(bytes: Uint8Array): FlatTable {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return new FlatTable(view, view.getUint32(0, true));
  }

  byte(field: number, otherwise = 0): number {
    const at = this.#place(field);
    return at === 0 ? otherwise : this.#view.getUint8(at);
  }

  short(field: number, otherwise = 0): number {
    const at = this.#place(field);
    return at === 0 ? otherwise : this.#view.getInt16(at, true);
  }

  int(field: number, otherwise = 0): number {
    const at = this.#place(field);
    return at === 0 ? otherwise : this.#view.getInt32(at, true);
  }

  /** A number of eight bytes; one that is no safe integer is out of any buffer. */
  long(field: number): number {
    const at = this.#place(field);
    return at === 0 ? 0 : safe(this.#view.getBigInt64(at, true));
  }

  table(field: number): FlatTable | undefined {
    const at = this.#place(field);
    return at === 0 ? undefined : new FlatTable(this.#view, at + this.#view.getUint32(at, true));
  }

  /** A text of at most so many bytes: many tables can name one text. */
  text(field: number, maxBytes: number): string {
    const at = this.#place(field);
    if (at === 0) return "";
    const from = at + this.#view.getUint32(at, true);
    const length = this.#view.getUint32(from, true);
    if (length > maxBytes) throw new RangeError("a name or text is too long");
    return new TextDecoder().decode(
      new Uint8Array(this.#view.buffer, this.#view.byteOffset + from + 4, inside(this.#view, from + 4, length)),
    );
  }

  /** A list of tables. */
  tables(field: number): FlatTable[] {
    const { from, count } = this.#list(field, 4);
    return Array.from({ length: count }, (_, index) => {
      const at = from + 4 * index;
      return new FlatTable(this.#view, at + this.#view.getUint32(at, true));
    });
  }

  /** A list of structs of two numbers of eight bytes. */
  pairs(field: number): (readonly [number, number])[] {
    const { from, count } = this.#list(field, 16);
    return Array.from({ length: count }, (_, index) => {
      const at = from + 16 * index;
      return [safe(this.#view.getBigInt64(at, true)), safe(this.#view.getBigInt64(at + 8, true))];
    });
  }

  #list(field: number, size: number): { readonly from: number; readonly count: number } {
    const at = this.#place(field);
    if (at === 0) return { from: 0, count: 0 };
    const start = at + this.#view.getUint32(at, true);
    const count = this.#view.getUint32(start, true);
    inside(this.#view, start + 4, count * size);
    return { from: start + 4, count };
  }

  /** Where a field is; 0 = it is not set. */
  #place(field: number): number {
    const slots = this.#at - this.#view.getInt32(this.#at, true);
    const slot = 4 + 2 * field;
    if (slot >= this.#view.getUint16(slots, true)) return 0;
    const offset = this.#view.getUint16(slots + slot, true);
    return offset === 0 ? 0 : this.#at + offset;
  }
}

function inside(view: DataView, from: number, length: number): number {
  if (from + length > view.byteLength) throw new RangeError("a list is longer than the buffer");
  return length;
}

function safe(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0) throw new RangeError("a number is out of range");
  return number;
}
