/**
 * Values between JavaScript and the JSON API. What comes back is JSON's own, but for integers,
 * which are numbers where these hold all of their digits and bigints beyond, and for NaN and the
 * infinities, which are numbers. Times are RFC 3339 texts with microseconds, lengths of time
 * numbers of seconds, bytes base64, decimals their digits: no JavaScript type holds these without
 * loss.
 */

/**
 * The type of an output in an answer: a name such as `int64`, or for lists and structs an object.
 */
export type ValueType = string | { readonly type: string; readonly items?: ValueType; readonly fields?: readonly TypedField[] };

/** A field of a struct's type. */
export interface TypedField {
  readonly name: string;
  readonly type: ValueType;
}

/** How integers of 64 bits are given. */
export type Integers = "auto" | "bigint";

/**
 * The JSON of a body. bigints become numbers with all their digits, NaN and the infinities
 * `{"$float": "NaN"}`, Dates RFC 3339 texts, bytes base64, Sets lists.
 */
export function toJson(body: unknown): string {
  // Numerals that JSON.stringify cannot write stand as marked texts until it is done; nobody who
  // gives values knows the mark.
  const mark = `${Math.random().toString(36).slice(2)}#`;
  const text = JSON.stringify(body, (_, value: unknown) => {
    if (typeof value === "bigint") return `${mark}${value}`;
    if (typeof value === "number" && !Number.isFinite(value)) return { $float: String(value) };
    if (Object.is(value, -0)) return `${mark}-0.0`;
    if (value instanceof Uint8Array) return base64(value);
    if (value instanceof Set) return [...value];
    return value;
  });
  return text.replace(new RegExp(`"${mark}(-?[0-9.]+)"`, "g"), "$1");
}

/** A value of an answer. */
export function fromJson(value: unknown, type: ValueType | undefined, integers: Integers): unknown {
  if (value === null || value === undefined) return null;
  if (type === undefined || type === "json") return value;
  if (type === "int64") return integer(value, integers);
  if (type === "float64") return typeof value === "object" ? Number((value as { $float: string }).$float) : value;
  if (typeof type === "string") return value;
  const { items, fields } = type;
  if (fields && !Array.isArray(value)) {
    const given = value as Readonly<Record<string, unknown>>;
    const types = new Map(fields.map((field) => [field.name, field.type]));
    return Object.fromEntries(Object.entries(given).map(([name, item]) => [name, fromJson(item, types.get(name), integers)]));
  }
  if (items && Array.isArray(value)) return value.map((item) => fromJson(item, items, integers));
  return value;
}

function integer(value: unknown, integers: Integers): unknown {
  if (typeof value !== "string" && typeof value !== "number") return value;
  if (integers === "bigint") return BigInt(value);
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}

/** Bytes at once that are given to a function as its arguments. */
const CHUNK = 8192;

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}
