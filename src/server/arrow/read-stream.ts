/** Streams of Arrow's IPC format as columns of values, bounded in what they come to. */

import { FlatTable } from "../../domain/arrow/flat-table.ts";
import { CONTINUATION, DAY_MS, Header, Type, UNIT_MICROS } from "../../domain/arrow/format.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import { type FeatureValue, normalizeInt } from "../../domain/value.ts";
import { inflatedBuffer } from "./buffer-codecs.ts";

/** A stream that cannot be read, or holds more than may be. The message says what and where. */
export class ArrowRefused extends Error {
  override readonly name = "ArrowRefused";
}

/** A table that was read. */
export interface ArrowTable {
  readonly rows: number;
  readonly names: readonly string[];
  /**
   * One list for each name. Times are text as features have them, lengths of time `{$micros: n}`.
   */
  readonly columns: readonly (readonly unknown[])[];
  /** Texts that the schema carries. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Most columns, with those inside of structs and lists; and levels of these. */
const MAX_FIELDS = 20_000;
const MAX_DEPTH = 32;
/** Most texts that a schema carries, and the longest name and text. */
const MAX_PAIRS = 100;
const MAX_NAME_BYTES = 4_096;
const MAX_TEXT_BYTES = 1024 * 1024;
/** Most digits behind a decimal's point, which is what 256 bits have. */
const MAX_SCALE = 76;

interface Column {
  readonly name: string;
  readonly id: number;
  readonly parameters: FlatTable | undefined;
  readonly children: readonly Column[];
  /** Id of the dictionary that its values are indexes of. */
  readonly dictionary: number | undefined;
  /** Of a dictionary's column, how its indexes are written. */
  readonly indexType: FlatTable | undefined;
}

/**
 * Reads a stream.
 * @param maxValues the most values, those inside of lists and structs included
 * @param maxInflatedBytes the most bytes that compressed buffers come to; 0 = a stream that is
 * compressed inside is refused
 * @throws ArrowRefused
 */
export function readArrowStream(bytes: Uint8Array, maxValues: number, maxInflatedBytes = 0): ArrowTable {
  try {
    return new Reader(bytes, maxValues, maxInflatedBytes).read();
  } catch (error) {
    if (error instanceof RangeError) throw new ArrowRefused(`The bytes are no whole stream of Arrow: ${error.message}.`);
    throw error;
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  #left: number;
  #fields = 0;
  readonly #maxValues: number;
  readonly #dictionaries = new Map<number, unknown[]>();
  readonly #maxInflated: number;
  #inflated = 0;

  constructor(bytes: Uint8Array, maxValues: number, maxInflated: number) {
    this.#bytes = bytes;
    this.#maxValues = maxValues;
    this.#left = maxValues;
    this.#maxInflated = maxInflated;
  }

  read(): ArrowTable {
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
    let schema: readonly Column[] | undefined;
    let metadata: Record<string, string> = {};
    let columns: unknown[][] = [];
    let rows = 0;
    for (let at = 0; at < this.#bytes.length; ) {
      if (view.getUint32(at, true) !== CONTINUATION) throw new RangeError("a message does not begin as one");
      const length = view.getUint32(at + 4, true);
      if (length === 0) break;
      const from = at + 8;
      const message = FlatTable.root(this.#part(from, length));
      const bodyAt = from + length;
      const bodyLength = message.long(3);
      const body = this.#part(bodyAt, bodyLength);
      at = bodyAt + bodyLength;
      const content = message.table(2);
      if (!content) throw new RangeError("a message has no content");
      const header = message.byte(1);
      if (header === Header.SCHEMA) {
        if (schema) throw new RangeError("there are two schemas");
        if (content.short(0) !== 0) throw new ArrowRefused("The stream is big-endian. Write it on, or for, a little-endian machine.");
        schema = content.tables(1).map((field) => this.#column(field, 0));
        const pairs = content.tables(2);
        if (pairs.length > MAX_PAIRS) throw new ArrowRefused(`The schema carries more than ${MAX_PAIRS} texts.`);
        metadata = Object.fromEntries(pairs.map((pair) => [pair.text(0, MAX_NAME_BYTES), pair.text(1, MAX_TEXT_BYTES)]));
        columns = schema.map(() => []);
        continue;
      }
      if (!schema) throw new RangeError("the schema is not the first message");
      if (header === Header.DICTIONARY) this.#addDictionary(schema, content, body);
      else if (header === Header.RECORDS) {
        const batch = this.#batch(content, body);
        schema.forEach((column, index) => {
          const values = this.#values(column, batch);
          if (values.length !== batch.rows) throw new RangeError(`column '${column.name}' has another length than its batch`);
          for (const value of values) columns[index]?.push(value);
        });
        rows += batch.rows;
      } else throw new RangeError("a message is of no known kind");
    }
    if (!schema) throw new RangeError("there is no schema");
    return { rows, names: schema.map(({ name }) => name), columns, metadata };
  }

  #part(from: number, length: number): Uint8Array {
    if (from + length > this.#bytes.length) throw new RangeError("it is cut");
    return this.#bytes.subarray(from, from + length);
  }

  #column(field: FlatTable, depth: number): Column {
    if (depth > MAX_DEPTH) throw new ArrowRefused(`A column has more than ${MAX_DEPTH} levels.`);
    if (++this.#fields > MAX_FIELDS) throw new ArrowRefused(`The table has more than ${MAX_FIELDS} columns.`);
    const dictionary = field.table(4);
    return {
      name: field.text(0, MAX_NAME_BYTES),
      id: field.byte(2),
      parameters: field.table(3),
      children: field.tables(5).map((child) => this.#column(child, depth + 1)),
      dictionary: dictionary?.long(0),
      indexType: dictionary?.table(1),
    };
  }

  #addDictionary(schema: readonly Column[], content: FlatTable, body: Uint8Array): void {
    const id = content.long(0);
    const column = withDictionary(schema, id);
    const records = content.table(1);
    if (!column || !records) throw new RangeError("a dictionary is of no column");
    const values = this.#values({ ...column, dictionary: undefined }, this.#batch(records, body));
    const known = content.byte(2) === 1 ? this.#dictionaries.get(id) : undefined;
    if (known) for (const value of values) known.push(value);
    else this.#dictionaries.set(id, values);
  }

  #batch(content: FlatTable, body: Uint8Array): Batch {
    const compression = content.table(3);
    if (compression && this.#maxInflated === 0)
      throw new ArrowRefused(
        "The stream is compressed inside. Write it without compression; the whole body may be compressed, by Content-Encoding.",
      );
    const codec = compression?.byte(0);
    return new Batch(content.long(0), content.pairs(1), content.pairs(2), body, (buffer) =>
      codec === undefined ? buffer : inflatedBuffer(codec, buffer, (length) => this.#inflate(length)),
    );
  }

  /** Throws ArrowRefused when compressed buffers come to too many bytes with these. */
  #inflate(length: number): void {
    this.#inflated += length;
    if (this.#inflated > this.#maxInflated)
      throw new ArrowRefused(`The table has more than ${this.#maxInflated} bytes when its parts are not compressed. Send it in parts.`);
  }

  /** The values of a column of a batch, whose nodes and buffers are taken in their order. */
  #values(column: Column, batch: Batch): unknown[] {
    const [rows] = batch.node();
    this.#left -= rows;
    if (this.#left < 0) throw new ArrowRefused(`The table has more than ${this.#maxValues} values. Send it in parts.`);
    const { id, name, parameters } = column;
    if (id === Type.NULL) return new Array<null>(rows).fill(null);
    const isThere = validity(batch.buffer(), rows);
    const filled = (read: (row: number) => unknown): unknown[] =>
      Array.from({ length: rows }, (_, row) => (isThere(row) ? read(row) : null));
    if (column.dictionary !== undefined) {
      const known = this.#dictionaries.get(column.dictionary);
      const read = integers(batch.buffer(), rows, column.indexType);
      return filled((row) => {
        const index = Number(read(row));
        if (!known || index < 0 || index >= known.length)
          throw new RangeError(`column '${name}' has an index that is not in its dictionary`);
        return known[index];
      });
    }
    switch (id) {
      case Type.INT:
        return filled(integers(batch.buffer(), rows, parameters));
      case Type.FLOAT:
        return filled(floats(batch.buffer(), rows, parameters));
      case Type.BOOL: {
        const bits = whole(batch.buffer(), (rows + 7) >> 3);
        return filled((row) => (((bits[row >> 3] ?? 0) >> (row & 7)) & 1) === 1);
      }
      case Type.UTF8:
      case Type.LARGE_UTF8:
      case Type.BINARY:
      case Type.LARGE_BINARY: {
        const bounds = offsets(batch.buffer(), rows, id === Type.LARGE_UTF8 || id === Type.LARGE_BINARY);
        const bytes = batch.buffer();
        const isText = id === Type.UTF8 || id === Type.LARGE_UTF8;
        const decoder = new TextDecoder();
        return filled((row) => {
          const part = slice(bytes, bounds(row), bounds(row + 1));
          return isText ? decoder.decode(part) : part.slice();
        });
      }
      case Type.DATE: {
        const buffer = batch.buffer();
        if ((parameters?.short(0, 1) ?? 1) === 0) {
          const days = numbers(buffer, rows, 4);
          return filled((row) => dateText(days.getInt32(4 * row, true) * DAY_MS));
        }
        const ms = numbers(buffer, rows, 8);
        return filled((row) => dateText(Number(ms.getBigInt64(8 * row, true))));
      }
      case Type.TIMESTAMP: {
        const micros = microseconds(batch.buffer(), rows, parameters?.short(0) ?? 0);
        return filled((row) => formatMicros(micros(row)));
      }
      case Type.DURATION: {
        const micros = microseconds(batch.buffer(), rows, parameters?.short(0, 1) ?? 1);
        return filled((row) => ({ $micros: normalizeInt(micros(row)) }));
      }
      case Type.DECIMAL:
        return filled(decimals(batch.buffer(), rows, parameters));
      case Type.STRUCT: {
        const fields = column.children.map((child) => [child.name, this.#values(child, batch)] as const);
        return filled((row) => Object.fromEntries(fields.map(([field, values]) => [field, (values[row] ?? null) as FeatureValue])));
      }
      case Type.LIST:
      case Type.LARGE_LIST: {
        const bounds = offsets(batch.buffer(), rows, id === Type.LARGE_LIST);
        const items = this.#items(column, batch);
        return filled((row) => slice(items, bounds(row), bounds(row + 1)));
      }
      case Type.FIXED_LIST: {
        const size = parameters?.int(0) ?? 0;
        const items = this.#items(column, batch);
        return filled((row) => slice(items, size * row, size * (row + 1)));
      }
      default:
        throw new ArrowRefused(
          `Column '${name.slice(0, 200)}' has a type of Arrow that is not taken here (${id}). Cast it to one of the basic types.`,
        );
    }
  }

  #items(column: Column, batch: Batch): unknown[] {
    const [child] = column.children;
    if (!child) throw new RangeError("a list has no items");
    return this.#values(child, batch);
  }
}

/** A batch whose nodes and buffers are taken one after another. */
class Batch {
  #node = 0;
  #buffer = 0;

  constructor(
    readonly rows: number,
    readonly nodes: readonly (readonly [number, number])[],
    readonly extents: readonly (readonly [number, number])[],
    readonly body: Uint8Array,
    readonly inflated: (buffer: Uint8Array) => Uint8Array,
  ) {}

  node(): readonly [number, number] {
    const node = this.nodes[this.#node++];
    if (!node) throw new RangeError("a batch has too few columns");
    return node;
  }

  buffer(): Uint8Array {
    const extent = this.extents[this.#buffer++];
    if (!extent) throw new RangeError("a batch has too few buffers");
    return this.inflated(slice(this.body, extent[0], extent[0] + extent[1]));
  }
}

function withDictionary(columns: readonly Column[], id: number): Column | undefined {
  for (const column of columns) {
    const found = column.dictionary === id ? column : withDictionary(column.children, id);
    if (found) return found;
  }
  return undefined;
}

function slice<T extends { readonly length: number; subarray(from: number, to: number): T }>(of: T, from: number, to: number): T;
function slice<T>(of: readonly T[], from: number, to: number): T[];
function slice(of: Uint8Array | readonly unknown[], from: number, to: number): unknown {
  if (from < 0 || to < from || to > of.length) throw new RangeError("a value lies outside of its buffer");
  return of instanceof Uint8Array ? of.subarray(from, to) : of.slice(from, to);
}

function whole(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length < length) throw new RangeError("a buffer is too short");
  return bytes;
}

/** Whether rows have a value; all of them have one where the buffer is empty. */
function validity(bits: Uint8Array, rows: number): (row: number) => boolean {
  if (bits.length === 0) return () => true;
  whole(bits, (rows + 7) >> 3);
  return (row) => (((bits[row >> 3] ?? 0) >> (row & 7)) & 1) === 1;
}

function numbers(bytes: Uint8Array, rows: number, size: number): DataView {
  whole(bytes, rows * size);
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Bounds of the values of rows in the buffer after; none where there are no rows. */
function offsets(bytes: Uint8Array, rows: number, isLong: boolean): (row: number) => number {
  if (rows === 0) return () => 0;
  const view = numbers(bytes, rows + 1, isLong ? 8 : 4);
  return isLong ? (row) => Number(view.getBigInt64(8 * row, true)) : (row) => view.getInt32(4 * row, true);
}

/** Integers of a type, which is of 32 bits with a sign where nothing is said. */
function integers(bytes: Uint8Array, rows: number, type: FlatTable | undefined): (row: number) => number | bigint {
  const bits = type ? type.int(0) : 32;
  const isSigned = type ? type.byte(1) === 1 : true;
  const view = numbers(bytes, rows, bits / 8);
  switch (bits) {
    case 8:
      return (row) => (isSigned ? view.getInt8(row) : view.getUint8(row));
    case 16:
      return (row) => (isSigned ? view.getInt16(2 * row, true) : view.getUint16(2 * row, true));
    case 32:
      return (row) => (isSigned ? view.getInt32(4 * row, true) : view.getUint32(4 * row, true));
    case 64:
      return (row) => normalizeInt(isSigned ? view.getBigInt64(8 * row, true) : view.getBigUint64(8 * row, true));
    default:
      throw new RangeError(`there are no integers of ${bits} bits`);
  }
}

function floats(bytes: Uint8Array, rows: number, type: FlatTable | undefined): (row: number) => number {
  const size = 2 << (type?.short(0) ?? 0);
  const view = numbers(bytes, rows, size);
  if (size === 2) return (row) => view.getFloat16(2 * row, true);
  return size === 4 ? (row) => view.getFloat32(4 * row, true) : (row) => view.getFloat64(8 * row, true);
}

function microseconds(bytes: Uint8Array, rows: number, unit: number): (row: number) => bigint {
  const view = numbers(bytes, rows, 8);
  const factor = UNIT_MICROS[unit] ?? 1;
  if (factor < 1) return (row) => floorDivided(view.getBigInt64(8 * row, true), BigInt(1 / factor));
  return (row) => view.getBigInt64(8 * row, true) * BigInt(factor);
}

function floorDivided(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value < 0n && quotient * by !== value ? quotient - 1n : quotient;
}

/** Decimals as the text of their digits. */
function decimals(bytes: Uint8Array, rows: number, type: FlatTable | undefined): (row: number) => string {
  const bits = type?.int(2, 128) ?? 128;
  if (![32, 64, 128, 256].includes(bits)) throw new RangeError(`there are no decimals of ${bits} bits`);
  const scale = type?.int(1) ?? 0;
  if (Math.abs(scale) > MAX_SCALE) throw new RangeError(`there are no decimals of scale ${scale}`);
  const view = numbers(bytes, rows, bits / 8);
  return (row) => {
    let value = 0n;
    for (let at = bits / 8 - 4; at >= 0; at -= 4) value = (value << 32n) | BigInt(view.getUint32((bits / 8) * row + at, true));
    const signed = BigInt.asIntN(bits, value);
    if (scale <= 0) return `${signed}${signed === 0n ? "" : "0".repeat(-scale)}`;
    const digits = (signed < 0n ? -signed : signed).toString().padStart(scale + 1, "0");
    return `${signed < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  };
}

function dateText(ms: number): string {
  const date = new Date(ms);
  const year = date.getUTCFullYear();
  if (Number.isNaN(year) || year < 1 || year > 9_999) throw new ArrowRefused("A date is not between the years 1 and 9999.");
  return date.toISOString().slice(0, 10);
}
