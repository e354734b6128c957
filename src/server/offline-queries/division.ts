/**
 * Which rows are kept and which are for tests: by hashes, so that it is the same for the same rows
 * in every query, on every machine.
 */

import type { FeatureValue } from "../../domain/value.ts";
import { storeKey } from "../stores/online/store.ts";

/** The column that says which part a row is of. */
export const SPLIT_COLUMN = "__split__";

/** A number from 0 (inclusive) to 1 (exclusive) for a text, evenly spread. */
export function unitOf(text: string): number {
  const digest = new Bun.CryptoHasher("sha256").update(text).digest();
  return (digest.readUInt32BE(0) * 0x200000 + (digest.readUInt32BE(4) >>> 11)) / 2 ** 53;
}

/** The key of a row as text: that of all its key columns. */
export function keyText(keys: readonly FeatureValue[]): string {
  return keys.map((key) => (key === null ? "" : storeKey(key))).join("\0");
}

/** Whether a row is among the kept ones; a fraction of 0 keeps all. */
export function isKept(fraction: number, key: string, micros: bigint): boolean {
  return fraction === 0 || unitOf(`sample\0${micros}\0${key}`) < fraction;
}

/** Whether all rows of a key are of the test part. */
export function isTestKey(fraction: number, key: string): boolean {
  return unitOf(`split\0${key}`) < fraction;
}

/** A column of keys in SQL. */
export interface KeyColumn {
  readonly sql: string;
  readonly kind: "integer" | "text";
}

/** `isTestKey` as SQL, of the columns of `keyText`. */
export function isTestKeySql(fraction: number, keys: readonly KeyColumn[]): string {
  const texts = keys.map(({ sql, kind }) => `case when ${sql} is null then '' else '${kind === "text" ? "s" : "i"}:' || ${sql} end`);
  const digest = `sha256(${["'split'", ...texts].join(" || chr(0) || ")})`;
  return `((('0x' || left(${digest}, 16))::ubigint >> 11)::double / ${2 ** 53}::double) < ${fraction.toExponential()}::double`;
}

/**
 * The earliest time of the test part, epoch milliseconds, so that it has about a fraction of the
 * rows; rows of one time are in one part. Undefined when there are no rows.
 */
export function splitTime(fraction: number, times: Float64Array): number | undefined {
  if (times.length === 0) return undefined;
  const sorted = times.toSorted();
  return sorted[Math.min(times.length - 1, Math.ceil(times.length * (1 - fraction)))];
}
