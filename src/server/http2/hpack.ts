/**
 * Header compression of HTTP/2 (HPACK, RFC 7541): a decoder with its dynamic table, and an encoder
 * that keeps none, so that an answer's header block is the same on every connection.
 */

import { huffmanText } from "./huffman.ts";

/** A header field: name and value, a character for each byte. */
export type Field = readonly [name: string, value: string];

/** The static table (RFC 7541, appendix A); its first entry has the index 1. */
const STATIC: readonly Field[] = (
  ":authority=;:method=GET;:method=POST;:path=/;:path=/index.html;:scheme=http;:scheme=https;:status=200;:status=204;:status=206;" +
  ":status=304;:status=400;:status=404;:status=500;accept-charset=;accept-encoding=gzip, deflate;accept-language=;accept-ranges=;accept=;" +
  "access-control-allow-origin=;age=;allow=;authorization=;cache-control=;content-disposition=;content-encoding=;content-language=;" +
  "content-length=;content-location=;content-range=;content-type=;cookie=;date=;etag=;expect=;expires=;from=;host=;if-match=;" +
  "if-modified-since=;if-none-match=;if-range=;if-unmodified-since=;last-modified=;link=;location=;max-forwards=;proxy-authenticate=;" +
  "proxy-authorization=;range=;referer=;refresh=;retry-after=;server=;set-cookie=;strict-transport-security=;transfer-encoding=;" +
  "user-agent=;vary=;via=;www-authenticate="
)
  .split(";")
  .map((entry) => entry.split("=") as [string, string]);

const STATIC_NAMES = new Map(STATIC.map(([name], at) => [name, at + 1] as const).toReversed());

/** Bytes that an entry counts beside its name and value. */
const ENTRY_BYTES = 32;
/** Size of the dynamic table in bytes: the default, which is never changed. */
const TABLE_BYTES = 4096;

/**
 * A header block that cannot be decoded. The connection has to end, because both tables may differ.
 */
export class BlockMalformed extends Error {
  override readonly name = "BlockMalformed";
}

/** A header block whose fields are more, or longer, than they may be. The connection has to end. */
export class BlockTooLarge extends Error {
  override readonly name = "BlockTooLarge";
}

/** Decodes the header blocks of one direction of a connection, in their order. */
export class HeaderDecoder {
  #entries: Field[] = [];
  #size = 0;
  #limit = TABLE_BYTES;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;

  /**
   * The fields of a block.
   * @param maxBytes the most bytes of names and values, each field counted with 32 more
   * @throws BlockMalformed, BlockTooLarge
   */
  decode(block: Uint8Array, maxBytes: number): Field[] {
    this.#bytes = block;
    this.#at = 0;
    const fields: Field[] = [];
    let size = 0;
    while (this.#at < block.length) {
      const first = block[this.#at] ?? 0;
      if ((first & 0xe0) === 0x20) {
        if (fields.length > 0) throw new BlockMalformed("the table's size changes after a field");
        const limit = this.#integer(5);
        if (limit > TABLE_BYTES) throw new BlockMalformed("the table's size is above the limit");
        this.#limit = limit;
        this.#evict(0);
        continue;
      }
      const field = this.#field(first);
      size += field[0].length + field[1].length + ENTRY_BYTES;
      if (size > maxBytes) throw new BlockTooLarge(`The headers have more than ${maxBytes} bytes.`);
      fields.push(field);
    }
    return fields;
  }

  #field(first: number): Field {
    if (first & 0x80) return this.#entry(this.#integer(7));
    const isKept = (first & 0x40) !== 0;
    const index = this.#integer(isKept ? 6 : 4);
    const name = index === 0 ? this.#text() : this.#entry(index)[0];
    const field: Field = [name, this.#text()];
    if (isKept) this.#keep(field);
    return field;
  }

  #entry(index: number): Field {
    const entry = index <= STATIC.length ? STATIC[index - 1] : this.#entries[this.#entries.length - (index - STATIC.length)];
    if (!entry) throw new BlockMalformed("a field's index is in neither table");
    return entry;
  }

  #keep(field: Field): void {
    const size = field[0].length + field[1].length + ENTRY_BYTES;
    this.#evict(size);
    if (size > this.#limit) return;
    this.#entries.push(field);
    this.#size += size;
  }

  /** Removes the oldest entries, until there is room for `size` bytes or none is left. */
  #evict(size: number): void {
    let oldest = 0;
    for (; this.#size + size > this.#limit && oldest < this.#entries.length; oldest++) {
      const [name, value] = this.#entries[oldest] as Field;
      this.#size -= name.length + value.length + ENTRY_BYTES;
    }
    if (oldest > 0) this.#entries.splice(0, oldest);
  }

  #integer(prefixBits: number): number {
    const most = (1 << prefixBits) - 1;
    let value = (this.#bytes[this.#at++] ?? 0) & most;
    if (value < most) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined || shift > 21) throw new BlockMalformed("a number is cut or too long");
      value += (byte & 0x7f) << shift;
      if ((byte & 0x80) === 0) return value;
    }
  }

  #text(): string {
    const isHuffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#integer(7);
    const from = this.#at;
    const to = from + length;
    if (to > this.#bytes.length) throw new BlockMalformed("a text is cut");
    this.#at = to;
    const text = isHuffman
      ? huffmanText(this.#bytes, from, to)
      : Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + from, length).toString("latin1");
    if (text === undefined) throw new BlockMalformed("a text is not in the Huffman code");
    return text;
  }
}

/** The block of some fields, whose names are in lower case. */
export function headerBlock(fields: readonly Field[]): Uint8Array {
  const bytes: number[] = [];
  for (const [name, value] of fields) {
    const whole = STATIC.findIndex((entry) => entry[0] === name && entry[1] === value);
    if (whole >= 0) {
      pushInteger(bytes, 0x80, 7, whole + 1);
      continue;
    }
    const index = STATIC_NAMES.get(name) ?? 0;
    pushInteger(bytes, 0, 4, index);
    if (index === 0) pushText(bytes, name);
    pushText(bytes, value);
  }
  return Uint8Array.from(bytes);
}

function pushInteger(bytes: number[], flags: number, prefixBits: number, value: number): void {
  const most = (1 << prefixBits) - 1;
  if (value < most) {
    bytes.push(flags | value);
    return;
  }
  bytes.push(flags | most);
  let rest = value - most;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
}

function pushText(bytes: number[], text: string): void {
  pushInteger(bytes, 0, 7, text.length);
  for (const byte of Buffer.from(text, "latin1")) bytes.push(byte);
}
