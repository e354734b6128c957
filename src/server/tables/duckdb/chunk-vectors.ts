/** Columns of frames to vectors of the library, and back, by their shapes. */

import type { DataChunk, LogicalType, Vector } from "@duckdb/node-bindings";
import { clearBit, type FrameReader, type FrameWriter, hasBit, maskBytes } from "../column-frame.ts";
import type { PlainShape, Shape } from "../shape.ts";
import type { Library } from "./library.ts";

/** Bytes of a text's entry in a vector: its length, then itself or where it is. */
const TEXT_ENTRY = 16;
/** Longest text that stands in its entry. */
const TEXT_INLINE = 12;

const WIDTHS: Readonly<Record<Exclude<PlainShape, "text" | "bytes">, number>> = { bool: 1, date: 4, int64: 8, double: 8, instant: 8 };

/** The library's type of a shape. */
export function logicalType(library: Library, shape: Shape): LogicalType {
  const { Type } = library;
  switch (shape.kind) {
    case "list":
      return library.create_list_type(logicalType(library, shape.element));
    case "struct":
      return library.create_struct_type(
        shape.fields.map((field) => logicalType(library, field.shape)),
        shape.fields.map(({ name }) => name),
      );
    default: {
      const types: Readonly<Record<PlainShape, number>> = {
        bool: Type.BOOLEAN,
        int64: Type.BIGINT,
        double: Type.DOUBLE,
        text: Type.VARCHAR,
        bytes: Type.BLOB,
        date: Type.DATE,
        instant: Type.TIMESTAMP_TZ,
      };
      return library.create_logical_type(types[shape.kind]);
    }
  }
}

/** Most rows of a chunk. */
export const CHUNK_ROWS = 2_048;

/** The columns of a frame as a chunk. */
export function chunkOf(
  library: Library,
  types: readonly LogicalType[],
  shapes: readonly Shape[],
  from: FrameReader,
  rows: number,
): DataChunk {
  const chunk = library.create_data_chunk(types);
  library.data_chunk_set_size(chunk, rows);
  for (const [at, shape] of shapes.entries()) fill(library, library.data_chunk_get_vector(chunk, at), shape, from, rows);
  return chunk;
}

function fill(library: Library, vector: Vector, shape: Shape, from: FrameReader, rows: number): void {
  const mask = from.nulls(rows);
  if (mask) {
    library.vector_ensure_validity_writable(vector);
    library.copy_data_to_vector_validity(vector, 0, mask.buffer as ArrayBuffer, mask.byteOffset, mask.length);
  }
  switch (shape.kind) {
    case "list":
      fillLists(library, vector, shape.element, from, rows);
      return;
    case "struct":
      for (const [at, field] of shape.fields.entries()) fill(library, library.struct_vector_get_child(vector, at), field.shape, from, rows);
      return;
    case "text":
    case "bytes":
      fillTexts(library, vector, from, rows, mask);
      return;
    default: {
      const bytes = from.part(rows * WIDTHS[shape.kind]);
      if (rows > 0) library.copy_data_to_vector(vector, 0, bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
    }
  }
}

function fillLists(library: Library, vector: Vector, element: Shape, from: FrameReader, rows: number): void {
  const offsets = from.words(rows + 1);
  const entries = new Uint32Array(rows * 4);
  for (let row = 0; row < rows; row++) {
    entries[row * 4] = offsets[row] as number;
    entries[row * 4 + 2] = (offsets[row + 1] as number) - (offsets[row] as number);
  }
  if (rows > 0) library.copy_data_to_vector(vector, 0, entries.buffer, 0, entries.byteLength);
  const elements = offsets[rows] as number;
  library.list_vector_reserve(vector, elements);
  library.list_vector_set_size(vector, elements);
  fill(library, library.list_vector_get_child(vector), element, from, elements);
}

function fillTexts(library: Library, vector: Vector, from: FrameReader, rows: number, mask: Uint8Array | undefined): void {
  const offsets = from.words(rows + 1);
  const bytes = from.part(offsets[rows] as number);
  const entries = new Uint8Array(rows * TEXT_ENTRY);
  const lengths = new Uint32Array(entries.buffer);
  const long: number[] = [];
  for (let row = 0; row < rows; row++) {
    const start = offsets[row] as number;
    const length = (offsets[row + 1] as number) - start;
    if (length > TEXT_INLINE) {
      long.push(row);
      continue;
    }
    lengths[row * 4] = length;
    for (let i = 0; i < length; i++) entries[row * TEXT_ENTRY + 4 + i] = bytes[start + i] as number;
  }
  if (rows > 0) library.copy_data_to_vector(vector, 0, entries.buffer, 0, entries.byteLength);
  for (const row of long)
    if (!mask || hasBit(mask, row)) library.vector_assign_string_element_len(vector, row, bytes.subarray(offsets[row], offsets[row + 1]));
}

/** Rows of a vector in the order of a frame. */
interface Selection {
  readonly rows: number;
  /** Row of the vector for each row of the frame; undefined: the same. */
  readonly at: Uint32Array | undefined;
  /** Rows of the frame that are null whatever the vector says, by cleared bits. */
  readonly mask: Uint8Array | undefined;
}

/** Writes the rows of a chunk as a frame's columns. */
export function writeChunk(library: Library, chunk: DataChunk, shapes: readonly Shape[], into: FrameWriter): number {
  const rows = library.data_chunk_get_size(chunk);
  for (const [at, shape] of shapes.entries())
    write(library, library.data_chunk_get_vector(chunk, at), shape, into, { rows, at: undefined, mask: undefined });
  return rows;
}

function write(library: Library, vector: Vector, shape: Shape, into: FrameWriter, selected: Selection): void {
  const { rows, at } = selected;
  const held = at ? at.reduce((most, row) => Math.max(most, row + 1), 0) : rows;
  const mask = nullsOf(library, vector, held, selected);
  into.nulls(rows, mask !== undefined, (row) => !hasBit(mask as Uint8Array, row));
  switch (shape.kind) {
    case "list":
      writeLists(library, vector, shape.element, into, { rows, at, mask }, held);
      return;
    case "struct":
      for (const [index, field] of shape.fields.entries())
        write(library, library.struct_vector_get_child(vector, index), field.shape, into, { rows, at, mask });
      return;
    case "text":
    case "bytes":
      writeTexts(library, vector, into, { rows, at, mask }, held);
      return;
    default: {
      const width = WIDTHS[shape.kind];
      const target = into.at(into.reserve(rows * width), rows * width);
      if (held === 0) return;
      const data = library.vector_get_data(vector, held * width);
      if (!at) target.set(data);
      else
        for (let row = 0; row < rows; row++)
          target.set(data.subarray((at[row] as number) * width, ((at[row] as number) + 1) * width), row * width);
    }
  }
}

/** Mask of the selected rows; undefined when none is null. */
function nullsOf(library: Library, vector: Vector, held: number, { rows, at, mask }: Selection): Uint8Array | undefined {
  const own = held === 0 ? null : (library.vector_get_validity(vector, maskBytes(held)) as Uint8Array | null);
  if (!own && !mask) return undefined;
  const all = new Uint8Array(maskBytes(rows)).fill(0xff);
  let nulls = 0;
  for (let row = 0; row < rows; row++)
    if ((mask && !hasBit(mask, row)) || (own && !hasBit(own, at ? (at[row] as number) : row))) {
      clearBit(all, row);
      nulls++;
    }
  return nulls === 0 ? undefined : all;
}

function writeLists(
  library: Library,
  vector: Vector,
  element: Shape,
  into: FrameWriter,
  { rows, at, mask }: Selection,
  held: number,
): void {
  const data = held === 0 ? new Uint8Array() : library.vector_get_data(vector, held * TEXT_ENTRY);
  const entries = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const offsets = into.words(into.reserve((rows + 1) * 4), rows + 1);
  const elements: number[] = [];
  for (let row = 0; row < rows; row++) {
    if (!mask || hasBit(mask, row)) {
      const entry = (at ? (at[row] as number) : row) * TEXT_ENTRY;
      const start = Number(entries.getBigUint64(entry, true));
      const length = Number(entries.getBigUint64(entry + 8, true));
      for (let i = 0; i < length; i++) elements.push(start + i);
    }
    offsets[row + 1] = elements.length;
  }
  write(library, library.list_vector_get_child(vector), element, into, {
    rows: elements.length,
    at: Uint32Array.from(elements),
    mask: undefined,
  });
}

function writeTexts(library: Library, vector: Vector, into: FrameWriter, { rows, at, mask }: Selection, held: number): void {
  const offsets = into.reserve((rows + 1) * 4);
  const data = held === 0 ? new Uint8Array() : new Uint8Array(library.vector_get_data(vector, held * TEXT_ENTRY));
  const entries = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const start = into.length;
  for (let row = 0; row < rows; row++) {
    if (!mask || hasBit(mask, row)) {
      const entry = (at ? (at[row] as number) : row) * TEXT_ENTRY;
      const length = entries.getUint32(entry, true);
      const text =
        length <= TEXT_INLINE
          ? data.subarray(entry + 4, entry + 4 + length)
          : library.get_data_from_pointer(data.buffer as ArrayBuffer, data.byteOffset + entry + 8, length);
      const room = into.room(length);
      into.at(room, length).set(text);
      into.take(length);
    }
    into.view.setUint32(offsets + (row + 1) * 4, into.length - start, true);
  }
  into.pad();
}
