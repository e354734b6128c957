/**
 * JSON on stdout: safe for bigints, without silent loss, and without control characters for
 * terminals.
 */

import { escapeUnseen } from "../domain/visible.ts";

/**
 * The JSON value of a bigint, number or bytes: bigints are numbers up to 2^53 and text beyond; NaN
 * and the infinities are text, since JSON cannot express them; bytes are base64.
 */
function replacer(this: unknown, _key: string, value: unknown): unknown {
  if (typeof value === "bigint") {
    return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString();
  }
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value;
}

/** A JSON document, indented by two spaces, without a newline at the end. */
export function jsonDocument(value: unknown): string {
  return escapeUnseen(JSON.stringify(value, replacer, 2) ?? "null");
}

/** A JSON document on one line, for a stream. */
export function jsonLine(value: unknown): string {
  return escapeUnseen(JSON.stringify(value, replacer) ?? "null");
}
