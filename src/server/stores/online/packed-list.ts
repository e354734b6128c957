/**
 * Lists of numbers as bytes: their elements one after another, little-endian, in the smallest
 * precision that holds each of them exactly, and a last byte that is the number of bytes of an
 * element: 2, 4 or 8. A list is read as it was written, without knowledge of its type; a vector is
 * rounded to its precision before it is stored, and so takes no more than that.
 */

import type { FeatureValue } from "../../../domain/value.ts";

/** Elements of the shortest list that is packed: JSON is no longer for shorter ones. */
const SHORTEST = 8;

/** The elements of a packed list. */
export type PackedElements = Float16Array | Float32Array | Float64Array;

/** A list of numbers as bytes; undefined for all other values, and for short lists. */
export function packedList(value: FeatureValue): Uint8Array<ArrayBuffer> | undefined {
  return Array.isArray(value) && value.length >= SHORTEST && isNumeric(value) ? packNumbers(value) : undefined;
}

/** Numbers as bytes, however few. */
export function packNumbers(numbers: readonly number[]): Uint8Array<ArrayBuffer> {
  const width = widthOf(numbers);
  const bytes = new Uint8Array(numbers.length * width + 1);
  viewOf(bytes.buffer, width, numbers.length).set(numbers);
  bytes[bytes.length - 1] = width;
  return bytes;
}

/** Whether a value is a list of numbers, and of nothing else. */
export function isNumeric(value: FeatureValue): value is number[] {
  return Array.isArray(value) && value.every((item) => typeof item === "number");
}

/**
 * The elements of a packed list, in place where they are aligned. Throws RangeError for bytes that
 * are none.
 */
export function packedElements(bytes: Uint8Array): PackedElements {
  const width = bytes[bytes.length - 1] ?? 0;
  const count = (bytes.length - 1) / width;
  if ((width !== 2 && width !== 4 && width !== 8) || !Number.isInteger(count))
    throw new RangeError(`${bytes.length} bytes are no list of numbers`);
  const isAligned = bytes.byteOffset % width === 0;
  const { buffer, byteOffset } = isAligned ? bytes : bytes.slice();
  return viewOf(buffer, width, count, byteOffset);
}

/** The list of numbers that was packed; a new one each time. */
export function unpackedList(bytes: Uint8Array): number[] {
  const elements = packedElements(bytes);
  const list = new Array<number>(elements.length);
  for (let at = 0; at < elements.length; at++) list[at] = elements[at] as number;
  return list;
}

function viewOf(buffer: ArrayBufferLike, width: number, count: number, offset = 0): PackedElements {
  const View = width === 2 ? Float16Array : width === 4 ? Float32Array : Float64Array;
  return new View(buffer as ArrayBuffer, offset, count);
}

/** Bytes of an element in the smallest precision that holds all of them exactly. */
function widthOf(numbers: readonly number[]): 2 | 4 | 8 {
  if (!numbers.every((number) => Object.is(Math.fround(number), number))) return 8;
  return numbers.every((number) => Object.is(Math.f16round(number), number)) ? 2 : 4;
}
