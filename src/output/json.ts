/** JSON on stdout: bigint safe, nothing lost silently, nothing a terminal would obey. */

import { escapeUnseen } from "../domain/visible.ts";

/**
 * bigints as numbers up to 2^53 and as text beyond; NaN and the infinities as text, since JSON has
 * no word for them; bytes as base64.
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

/** A document, indented by two spaces, without newline at the end. */
export function jsonDocument(value: unknown): string {
  return escapeUnseen(JSON.stringify(value, replacer, 2) ?? "null");
}

/** One line of a stream. */
export function jsonLine(value: unknown): string {
  return escapeUnseen(JSON.stringify(value, replacer) ?? "null");
}
