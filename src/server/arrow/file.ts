/**
 * Files of Arrow's IPC format, which `feather` writes too: a stream between two marks, and a footer
 * that says where its batches are.
 */

import { padded, VERSION } from "../../domain/arrow/format.ts";
import { FlatBuilder } from "./flat-builder.ts";
import { ArrowRefused } from "./read-stream.ts";
import { type ArrowColumn, messagesOf, schemaIn } from "./write-stream.ts";

const MARK = new TextEncoder().encode("ARROW1");
/** Bytes of the footer's length and of the second mark. */
const TAIL = 4 + MARK.length;

/** Whether bytes begin as a file does; no stream does. */
export function isArrowFile(bytes: Uint8Array): boolean {
  return MARK.every((byte, at) => bytes[at] === byte);
}

/** The stream in a file. Throws ArrowRefused when the file is cut. */
export function streamOfFile(bytes: Uint8Array): Uint8Array {
  const end = bytes.length - TAIL;
  const isWhole = end >= 8 && isArrowFile(bytes.subarray(end + 4));
  const footer = isWhole ? new DataView(bytes.buffer, bytes.byteOffset + end, 4).getInt32(0, true) : -1;
  if (footer < 0 || end - footer < 8) throw new ArrowRefused("The bytes are no whole file of Arrow: its end is missing.");
  return bytes.subarray(8, end - footer);
}

/** A table as a file of one batch, like `arrowStream`. */
export function arrowFile(columns: readonly ArrowColumn[], rows: number): Uint8Array<ArrayBuffer> {
  const { schema, records, end } = messagesOf(columns, rows, {});
  const footer = new FlatBuilder();
  const head = schemaIn(footer, columns, {});
  const nothing = footer.places([]);
  const batchAt = padded(MARK.length) + schema.length;
  const batches = footer.structs([[BigInt(batchAt), BigInt(records.head.length), BigInt(records.bodyLength)]]);
  const root = footer.table([{ size: 2, value: VERSION }, { place: head }, { place: nothing }, { place: batches }]);
  const written = footer.finish(root);
  const tail = new Uint8Array(TAIL);
  new DataView(tail.buffer).setInt32(0, written.length, true);
  tail.set(MARK, 4);
  const start = new Uint8Array(padded(MARK.length));
  start.set(MARK);
  return Buffer.concat([start, schema, records.head, ...records.body, end, written, tail]) as Uint8Array<ArrayBuffer>;
}
