/**
 * A writer of FlatBuffers, the encoding of Arrow's metadata: from the end of the buffer to its
 * beginning.
 */

/** Where something begins, counted from the end of the buffer. */
export type Place = number & { readonly _place: unique symbol };

/** A field of a table: its value by its size in bytes; undefined = not set. */
export type FlatField =
  | { readonly size: 1 | 2 | 4; readonly value: number }
  | { readonly size: 8; readonly value: bigint }
  | { readonly place: Place }
  | undefined;

/** The writer. */
export class FlatBuilder {
  #bytes = new Uint8Array(4096);
  #view = new DataView(this.#bytes.buffer);
  #used = 0;

  /** A text. */
  text(value: string): Place {
    const bytes = Buffer.from(value);
    this.#align(4, bytes.length + 1);
    this.#make(1);
    this.#make(bytes.length).set(bytes);
    this.#number(4, bytes.length);
    return this.#used as Place;
  }

  /** A list of places. */
  places(items: readonly Place[]): Place {
    this.#align(4, 4 * items.length);
    for (const item of items.toReversed()) this.#reference(item);
    this.#number(4, items.length);
    return this.#used as Place;
  }

  /** A list of structs, each of so many numbers of eight bytes. */
  structs(items: readonly (readonly bigint[])[]): Place {
    this.#align(4, 16 * items.length);
    this.#align(8, 16 * items.length);
    for (const item of items.toReversed()) for (const value of item.toReversed()) this.#long(value);
    this.#number(4, items.length);
    return this.#used as Place;
  }

  /** A table. */
  table(fields: readonly FlatField[]): Place {
    const start = this.#used;
    const at = fields.map((field) => {
      if (!field) return 0;
      if ("place" in field) {
        this.#align(4, 0);
        this.#reference(field.place);
      } else {
        this.#align(field.size, 0);
        if (field.size === 8) this.#long(field.value);
        else this.#number(field.size, field.value);
      }
      return this.#used;
    });
    this.#align(4, 0);
    this.#number(4, 0);
    const table = this.#used;
    for (const place of at.toReversed()) this.#number(2, place === 0 ? 0 : table - place);
    this.#number(2, table - start);
    this.#number(2, 2 * (fields.length + 2));
    this.#view.setInt32(this.#bytes.length - table, this.#used - table, true);
    return table as Place;
  }

  /** The buffer, whose root is a table. */
  finish(root: Place): Uint8Array {
    this.#align(8, 4);
    this.#reference(root);
    return this.#bytes.slice(this.#bytes.length - this.#used);
  }

  #align(size: number, more: number): void {
    this.#make(-(this.#used + more) & (size - 1));
  }

  #reference(place: Place): void {
    this.#number(4, this.#used - place + 4);
  }

  #number(size: 1 | 2 | 4, value: number): void {
    this.#make(size);
    const at = this.#bytes.length - this.#used;
    if (size === 1) this.#view.setUint8(at, value);
    else if (size === 2) this.#view.setUint16(at, value, true);
    else this.#view.setUint32(at, value, true);
  }

  #long(value: bigint): void {
    this.#make(8);
    this.#view.setBigInt64(this.#bytes.length - this.#used, value, true);
  }

  /** Takes bytes in front of those that are used; they are zero. */
  #make(length: number): Uint8Array {
    if (this.#used + length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#used + length));
      larger.set(this.#bytes.subarray(this.#bytes.length - this.#used), larger.length - this.#used);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    this.#used += length;
    const at = this.#bytes.length - this.#used;
    return this.#bytes.subarray(at, at + length);
  }
}
