/** JSON on stdout: bigint safe, nothing lost silently, nothing a terminal would obey. */

/** bigints as numbers up to 2^53 and as text beyond; NaN and the infinities as text, since JSON has no word for them; bytes as base64. */
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

/** C1 controls and direction marks, which JSON lets through, as `\u` escapes. */
function escapeUnseen(text: string): string {
  return text.replace(
    /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A document, indented by two spaces, without newline at the end. */
export function jsonDocument(value: unknown): string {
  return escapeUnseen(JSON.stringify(value, replacer, 2) ?? "null");
}

/** One line of a stream. */
export function jsonLine(value: unknown): string {
  return escapeUnseen(JSON.stringify(value, replacer) ?? "null");
}
