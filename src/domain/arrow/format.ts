/**
 * Numbers of Arrow's IPC format (version 5, as `Schema.fbs` and `Message.fbs` of Arrow define
 * them).
 */

/** Media type of an IPC stream. */
export const ARROW_STREAM = "application/vnd.apache.arrow.stream";

/** What a message is. */
export const Header = { SCHEMA: 1, DICTIONARY: 2, RECORDS: 3 } as const;

/** Types of columns. */
export const Type = {
  NULL: 1,
  INT: 2,
  FLOAT: 3,
  BINARY: 4,
  UTF8: 5,
  BOOL: 6,
  DECIMAL: 7,
  DATE: 8,
  TIME: 9,
  TIMESTAMP: 10,
  LIST: 12,
  STRUCT: 13,
  FIXED_BINARY: 15,
  FIXED_LIST: 16,
  MAP: 17,
  DURATION: 18,
  LARGE_BINARY: 19,
  LARGE_UTF8: 20,
  LARGE_LIST: 21,
  RUN_END_ENCODED: 22,
  BINARY_VIEW: 23,
  UTF8_VIEW: 24,
  LIST_VIEW: 25,
  LARGE_LIST_VIEW: 26,
} as const;

/** Precisions of floats, by their number of bytes. */
export const PRECISIONS: Readonly<Record<number, number>> = { 2: 0, 4: 1, 8: 2 };
export const DAY_UNIT = 0;
export const MICROSECONDS = 2;
/** Microseconds of each unit of time; the last, nanoseconds, is a thousandth. */
export const UNIT_MICROS: readonly number[] = [1_000_000, 1_000, 1, 0.001];

export const VERSION = 4;
export const CONTINUATION = 0xffffffff;
export const DAY_MS = 86_400_000;

/** Bytes of a buffer with its padding. */
export function padded(length: number): number {
  return (length + 7) & ~7;
}
