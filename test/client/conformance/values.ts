/**
 * Values of the conformance table. JSON does not tell an integer from a float, or a time from a
 * text, so each value that JSON has no type for is an object with one member that names its type;
 * runners of every language make their own values of them.
 */

/** A value of the table. */
export type Value =
  | null
  | boolean
  | string
  | readonly Value[]
  | { readonly $int: string }
  | { readonly $float: string }
  | { readonly $bytes: string }
  | { readonly $date: string }
  | { readonly $time: string }
  | { readonly $duration: string }
  | { readonly $decimal: string }
  | { readonly $set: readonly string[] }
  | { readonly $struct: Readonly<Record<string, Value>> }
  | { readonly $json: unknown };

export const int = (value: number | bigint): Value => ({ $int: String(value) });
export const float = (value: number): Value => ({ $float: Object.is(value, -0) ? "-0" : String(value) });
/** @param value base64 */
export const bytes = (value: string): Value => ({ $bytes: value });
export const date = (value: string): Value => ({ $date: value });
/** @param value RFC 3339 in UTC with six digits of fraction */
export const time = (value: string): Value => ({ $time: value });
/** @param micros microseconds */
export const duration = (micros: bigint): Value => ({ $duration: String(micros) });
export const decimal = (value: string): Value => ({ $decimal: value });
export const set = (...value: readonly string[]): Value => ({ $set: value });
export const struct = (value: Readonly<Record<string, Value>>): Value => ({ $struct: value });
export const json = (value: unknown): Value => ({ $json: value });

/** The text of a value in the JSON API, with all digits. */
export function apiText(value: Value): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly Value[]).map(apiText).join(",")}]`;
  const [[kind, content]] = Object.entries(value) as [[string, unknown]];
  switch (kind) {
    case "$int":
      return String(content);
    case "$float":
      return Number.isFinite(Number(content)) ? (content === "-0" ? "-0.0" : String(content)) : JSON.stringify({ $float: content });
    case "$duration":
      return JSON.stringify(`${secondsOf(BigInt(content as string))}s`);
    case "$struct":
      return `{${Object.entries(content as Record<string, Value>)
        .map(([name, field]) => `${JSON.stringify(name)}:${apiText(field)}`)
        .join(",")}}`;
    default:
      return JSON.stringify(content);
  }
}

function secondsOf(micros: bigint): string {
  const size = micros < 0n ? -micros : micros;
  return `${micros < 0n ? "-" : ""}${size / 1_000_000n}.${String(size % 1_000_000n).padStart(6, "0")}`;
}

/**
 * Whether what a runner printed is a value. It prints integers as numbers or as their digits, floats
 * as numbers or as texts, and the rest as the API does, or as its own language's JSON would.
 */
export function isValue(expected: Value, got: unknown): boolean {
  if (expected === null || typeof expected !== "object") return expected === got;
  if (Array.isArray(expected)) return isList(expected, got);
  const [[kind, content]] = Object.entries(expected) as [[string, unknown]];
  switch (kind) {
    case "$int":
      return (typeof got === "string" || Number.isSafeInteger(got)) && String(got) === content;
    case "$float":
      return got !== null && typeof got !== "boolean" && Object.is(Number(got), Number(content));
    case "$time":
      return typeof got === "string" && microsOf(got) === microsOf(content as string);
    case "$duration":
      return durationOf(got) === BigInt(content as string);
    case "$set":
      return Array.isArray(got) && isList([...(content as string[])].sort(), [...got].sort());
    case "$struct": {
      if (got === null || typeof got !== "object") return false;
      const [fields, given] = [content as Record<string, Value>, got as Record<string, unknown>];
      return (
        Object.keys(given).length === Object.keys(fields).length &&
        Object.entries(fields).every(([name, field]) => name in given && isValue(field, given[name]))
      );
    }
    case "$json":
      return Bun.deepEquals(content, got);
    default:
      return content === got;
  }
}

function isList(expected: readonly Value[], got: unknown): boolean {
  return Array.isArray(got) && got.length === expected.length && expected.every((item, at) => isValue(item, got[at]));
}

function microsOf(text: string): bigint | undefined {
  const found = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  if (!found) return undefined;
  return BigInt(Date.parse(`${found[1]}${found[3]}`)) * 1000n + BigInt((found[2] ?? "").slice(0, 6).padEnd(6, "0"));
}

function durationOf(got: unknown): bigint | undefined {
  if (typeof got === "number") return BigInt(Math.round(got * 1e6));
  const found = typeof got === "string" ? /^(-?)(\d+)(?:\.(\d{1,6}))?s$/.exec(got) : null;
  if (!found) return undefined;
  const size = BigInt(found[2] as string) * 1_000_000n + BigInt((found[3] ?? "").padEnd(6, "0"));
  return found[1] ? -size : size;
}
