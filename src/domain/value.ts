/**
 * Values of features in memory, and the rules by which they take a type. The same rules hold for
 * query inputs, SQL results, Python results and stored values.
 *
 * | type | in memory | plain JSON | |---|---|---| | int64 | number when safe, else bigint | number,
 * or a string beyond 2^53 (see `output-json.ts` for several values) | | float64 | number | number,
 * -0 as `-0.0`; NaN and infinities as `{"$float": "NaN"}` | | string, bool, null | as such | as
 * such | | bytes | Uint8Array | base64 text | | date | `YYYY-MM-DD` | the same | | datetime |
 * `YYYY-MM-DDTHH:MM:SS.ffffffZ` | the same | | timedelta | integer microseconds, as an int64 |
 * number of seconds; text such as `63113904000.123456s` where that would not be exact | | decimal |
 * text of the digits | the same | | list | array | array | | struct | object with the fields in
 * order | object | | json | anything JSON can say | the same |
 */

import { type DataType, PrimitiveType, VectorPrecision, type VectorType } from "../../gen/svc/v1/value_pb.ts";
import { parseDuration } from "./duration.ts";
import { canonicalInstant, formatMicros, parseInstant } from "./timestamp.ts";

/** A value of a feature in memory; its type tells which of these it is. */
export type FeatureValue = null | boolean | number | bigint | string | Uint8Array | FeatureValue[] | { [field: string]: FeatureValue };

/** The error of a value that does not fit a type: what was wanted and what was given, in words. */
export class TypeMismatch extends Error {
  override readonly name = "TypeMismatch";
  constructor(
    readonly wanted: string,
    readonly given: string,
    readonly at = "",
  ) {
    super(`expected ${wanted}, got ${given}${at ? ` at ${at}` : ""}`);
  }
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

const PRIMITIVE_NAMES: Readonly<Record<PrimitiveType, string>> = {
  [PrimitiveType.UNSPECIFIED]: "unknown",
  [PrimitiveType.INT64]: "int",
  [PrimitiveType.FLOAT64]: "float",
  [PrimitiveType.STRING]: "str",
  [PrimitiveType.BOOL]: "bool",
  [PrimitiveType.BYTES]: "bytes",
  [PrimitiveType.DATE]: "date",
  [PrimitiveType.DATETIME]: "datetime",
  [PrimitiveType.TIMEDELTA]: "timedelta",
  [PrimitiveType.DECIMAL]: "Decimal",
  [PrimitiveType.JSON]: "json",
};

/** The type as a Python user writes it: `int`, `list[str]`, `Address`. */
export function typeName(type: DataType | undefined): string {
  switch (type?.kind.case) {
    case "primitive":
      return PRIMITIVE_NAMES[type.kind.value];
    case "list":
      if (type.kind.value.vector) return vectorName(type.kind.value.vector);
      return `${type.kind.value.set ? "set" : "list"}[${typeName(type.kind.value.element)}]`;
    case "struct":
    case "enum":
      return type.kind.value.name;
    default:
      return "unknown";
  }
}

/** Names of precisions of vectors, as a Python user writes them. */
export const VECTOR_PRECISIONS: Readonly<Record<VectorPrecision, string>> = {
  [VectorPrecision.UNSPECIFIED]: "unknown",
  [VectorPrecision.F16]: "f16",
  [VectorPrecision.F32]: "f32",
  [VectorPrecision.F64]: "f64",
};

/** A type of vectors as a Python user writes it; `f32` is what a size alone means. */
function vectorName({ size, precision }: VectorType): string {
  const stated = [...(precision === VectorPrecision.F32 ? [] : [`"${VECTOR_PRECISIONS[precision]}"`]), ...(size > 0 ? [size] : [])];
  return stated.length === 0 ? "Vector" : `Vector[${stated.join(", ")}]`;
}

/** The primitive type, of an enum its base; `UNSPECIFIED` for lists and structs. */
export function primitiveOf({ kind }: DataType): PrimitiveType {
  return kind.case === "primitive" ? kind.value : kind.case === "enum" ? kind.value.base : PrimitiveType.UNSPECIFIED;
}

/**
 * A value in words for a message: `str "abc"`, `int 5`, `null`, `list of 3`, `struct {"a": 1}`.
 * Long text and structs of many fields are cut.
 */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return `str ${JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value)}`;
  if (typeof value === "boolean") return `bool ${value}`;
  if (typeof value === "bigint") return `int ${value}`;
  if (typeof value === "number") return `${Number.isInteger(value) ? "int" : "float"} ${value}`;
  if (value instanceof Uint8Array) return `bytes of length ${value.length}`;
  if (Array.isArray(value)) return `list of ${value.length}`;
  return describeStruct(value as Readonly<Record<string, unknown>>);
}

/** Fields of a struct that a message shows. */
const SHOWN_FIELDS = 3;

function describeStruct(struct: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(struct);
  if (names.length === 0) return "struct";
  const shown = names.slice(0, SHOWN_FIELDS).map((name) => {
    const value = struct[name];
    const isNested = value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array);
    return `${describeBare(name)}: ${isNested ? "{...}" : describeBare(value)}`;
  });
  return `struct {${[...shown, ...(names.length > SHOWN_FIELDS ? ["..."] : [])].join(", ")}}`;
}

/** A plain value as a message shows it where its type is known: `5`, `"abc"`. */
export function describeBare(value: unknown): string {
  return describeValue(value).replace(/^(?:int|float|str|bool) /, "");
}

/** The integer as a number when it is safe, else the bigint. */
export function normalizeInt(value: bigint): number | bigint {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
}

/**
 * The strictness of a conversion to a type.
 * - `strict`: for values that a resolver returns; int is widened where float is wanted, nothing
 *   else is converted.
 * - `key`: for keys that a resolver returns; as `strict`, but an int and its decimal text stand for
 *   each other.
 * - `lenient`: for values that a user or a database gives; text that holds a value of the type is
 *   read (`"5"` for int, `"true"` for bool, ISO 8601 for times), an integer becomes text where text
 *   is wanted, 0 and 1 become bool.
 */
export type Leniency = "strict" | "key" | "lenient";

/**
 * A conversion of values to a type, compiled once per type. Throws TypeMismatch. Never given null:
 * callers check nullability.
 */
export type Coercer = (value: unknown) => FeatureValue;

/** The conversion to a type. */
export function compileCoercer(type: DataType, leniency: Leniency): Coercer {
  switch (type.kind.case) {
    case "primitive": {
      const isKeyType = type.kind.value === PrimitiveType.INT64 || type.kind.value === PrimitiveType.STRING;
      return primitiveCoercer(type.kind.value, leniency === "lenient" || (leniency === "key" && isKeyType));
    }
    case "list": {
      const { element, elementNullable, set, vector } = type.kind.value;
      if (!element) throw new Error("a list type without an element type");
      if (vector) return vectorCoercer(vector, compileCoercer(element, leniency), leniency);
      const coerceElement = compileCoercer(element, leniency);
      const wanted = typeName(type);
      return (value) => {
        const items = typeof value === "string" && leniency === "lenient" ? jsonOf(value) : value;
        if (!Array.isArray(items)) throw new TypeMismatch(wanted, describeValue(value));
        const list = items.map((item, index) => {
          if (item === null || item === undefined) {
            if (elementNullable) return null;
            throw new TypeMismatch(typeName(element), "null", `[${index}]`);
          }
          return at(`[${index}]`, () => coerceElement(item));
        });
        if (!set) return list;
        const seen = new Set<string>();
        return list.filter((item) => {
          const key = encodeStored(item);
          const isNew = !seen.has(key);
          seen.add(key);
          return isNew;
        });
      };
    }
    case "struct": {
      const struct = type.kind.value;
      const fields = struct.fields.map((field) => {
        if (!field.dtype) throw new Error(`struct field ${field.name} without a type`);
        return {
          name: field.name,
          nullable: field.nullable,
          dtype: field.dtype,
          coerce: compileCoercer(field.dtype, leniency),
        };
      });
      const known = new Set(fields.map((field) => field.name));
      return (value) => {
        const given = typeof value === "string" && leniency === "lenient" ? jsonOf(value) : value;
        if (given === null || typeof given !== "object" || Array.isArray(given) || given instanceof Uint8Array)
          throw new TypeMismatch(struct.name, describeValue(value));
        const source = given as Record<string, unknown>;
        for (const name of Object.keys(source)) if (!known.has(name)) throw new TypeMismatch(struct.name, `unknown field '${name}'`);
        const result: { [field: string]: FeatureValue } = {};
        for (const field of fields) {
          const item = Object.hasOwn(source, field.name) ? source[field.name] : undefined;
          if (item === null || item === undefined) {
            if (!field.nullable) throw new TypeMismatch(typeName(field.dtype), item === null ? "null" : "nothing", `.${field.name}`);
            result[field.name] = null;
          } else result[field.name] = at(`.${field.name}`, () => field.coerce(item));
        }
        return result;
      };
    }
    case "enum": {
      const { name, base, members } = type.kind.value;
      const coerceBase = primitiveCoercer(base, leniency === "lenient");
      const legal = new Map(members.map((member) => [encodeStored(plainOf(member.value?.kind.value)), member.name]));
      const legalValues = members.map((member) => String(member.value?.kind.value)).join(", ");
      return (value) => {
        const taken = coerceBase(value);
        if (!legal.has(encodeStored(taken))) throw new TypeMismatch(`${name} (one of ${legalValues})`, describeValue(value));
        return taken;
      };
    }
    default:
      throw new Error("a feature without a type");
  }
}

const ROUNDINGS: Readonly<Record<VectorPrecision, (value: number) => number>> = {
  [VectorPrecision.UNSPECIFIED]: Number,
  [VectorPrecision.F16]: Math.f16round,
  [VectorPrecision.F32]: Math.fround,
  [VectorPrecision.F64]: Number,
};

/** The conversion to vectors: lists of finite numbers, which are rounded to the precision. */
function vectorCoercer(vector: VectorType, coerceElement: Coercer, leniency: Leniency): Coercer {
  const wanted = vectorName(vector);
  const round = ROUNDINGS[vector.precision];
  const taken = (item: unknown, index: number): number => {
    const number = at(`[${index}]`, () => (item === null || item === undefined ? Number.NaN : (coerceElement(item) as number)));
    const rounded = round(number);
    if (!Number.isFinite(rounded)) throw new TypeMismatch(`a finite number of ${wanted}`, describeValue(item), `[${index}]`);
    return rounded;
  };
  return (value) => {
    const items = typeof value === "string" && leniency === "lenient" ? jsonOf(value) : value;
    if (!Array.isArray(items)) throw new TypeMismatch(wanted, describeValue(value));
    if (vector.size > 0 && items.length !== vector.size) throw new TypeMismatch(wanted, describeValue(items));
    return items.map((item: unknown, index) => {
      const rounded = typeof item === "number" ? round(item) : Number.NaN;
      return Number.isFinite(rounded) ? rounded : taken(item, index);
    });
  };
}

function plainOf(value: unknown): FeatureValue {
  return typeof value === "bigint" ? normalizeInt(value) : (value as FeatureValue);
}

function at<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof TypeMismatch) throw new TypeMismatch(error.wanted, error.given, path + error.at);
    throw error;
  }
}

/**
 * The value of JSON text, with integers beyond 2^53 kept exactly, as bigints; those of more than
 * 400 digits become infinite. Throws SyntaxError.
 */
export function parseExactJson(text: string): unknown {
  return /\d{16}/.test(text) ? JSON.parse(text, keepInteger as (key: string, value: unknown) => unknown) : JSON.parse(text);
}

/** The JSON that a text holds, read by `parseExactJson`; the text itself when it is none. */
export function jsonOf(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return text;
  }
}

function keepInteger(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value) || !context?.source) return value;
  return /^-?\d{1,400}$/.test(context.source) ? BigInt(context.source) : value;
}

function primitiveCoercer(type: PrimitiveType, lenient: boolean): Coercer {
  const wanted = PRIMITIVE_NAMES[type];
  const refuse = (value: unknown): never => {
    throw new TypeMismatch(wanted, describeValue(value));
  };
  switch (type) {
    case PrimitiveType.INT64:
      return (value) => {
        if (typeof value === "number" && Number.isSafeInteger(value)) return value === 0 ? 0 : value;
        let big: bigint | undefined;
        if (typeof value === "bigint") big = value;
        else if (lenient && typeof value === "number" && Number.isInteger(value)) big = BigInt(value);
        else if (lenient && typeof value === "string" && /^[+-]?\d{1,20}$/.test(value.trim()))
          big = BigInt(value.trim().replace(/^\+/, ""));
        if (big === undefined) return refuse(value);
        if (big < INT64_MIN || big > INT64_MAX) throw new TypeMismatch("int (64 bits)", `int ${big}, which is out of range`);
        return normalizeInt(big);
      };
    case PrimitiveType.FLOAT64:
      return (value) => {
        if (typeof value === "number") return value;
        if (typeof value === "bigint") return Number(value);
        if (value !== null && typeof value === "object" && "$float" in value) {
          const { $float } = value;
          if (typeof $float === "string" && SPECIAL_FLOATS.has($float)) return Number($float);
          throw new TypeMismatch(`${wanted} ({"$float": ...} is "NaN", "Infinity" or "-Infinity")`, describeValue($float));
        }
        if (lenient && typeof value === "string" && value.trim() !== "") {
          const text = value.trim().toLowerCase();
          const named = (
            {
              nan: Number.NaN,
              inf: Infinity,
              infinity: Infinity,
              "-inf": -Infinity,
              "-infinity": -Infinity,
            } as Record<string, number>
          )[text];
          const parsed = named ?? (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(text) ? Number(text) : undefined);
          if (parsed !== undefined) return parsed;
        }
        return refuse(value);
      };
    case PrimitiveType.STRING:
      return (value) => {
        if (typeof value === "string") return value;
        if (lenient && (typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value)))) return String(value);
        return refuse(value);
      };
    case PrimitiveType.BOOL:
      return (value) => {
        if (typeof value === "boolean") return value;
        if (lenient && (value === 0 || value === 1 || value === 0n || value === 1n)) return Number(value) === 1;
        if (lenient && typeof value === "string" && /^(true|false)$/i.test(value)) return value.toLowerCase() === "true";
        return refuse(value);
      };
    case PrimitiveType.BYTES:
      return (value) => {
        if (value instanceof Uint8Array) return value;
        const tagged = value !== null && typeof value === "object" && "$bytes" in value ? value.$bytes : undefined;
        const text = tagged ?? (lenient ? value : undefined);
        if (typeof text === "string" && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return fromBase64(text);
        return refuse(value);
      };
    case PrimitiveType.DATE:
      return (value) => {
        if (value instanceof Date) return isInCalendar(value) ? value.toISOString().slice(0, 10) : refuse(value);
        if (typeof value !== "string") return refuse(value);
        const instant = parseInstant(value);
        if (!instant || (!lenient && value.length !== 10)) return refuse(value);
        return formatMicros(instant.micros).slice(0, 10);
      };
    case PrimitiveType.DATETIME:
      return (value) => {
        if (value instanceof Date) return isInCalendar(value) ? formatMicros(BigInt(value.getTime()) * 1000n) : refuse(value);
        if (typeof value !== "string") return refuse(value);
        return canonicalInstant(value) ?? refuse(value);
      };
    case PrimitiveType.TIMEDELTA:
      return (value) => {
        const tagged = value !== null && typeof value === "object" && "$micros" in value ? value.$micros : undefined;
        const micros = tagged === undefined ? microsOf(value, lenient) : taggedMicros(tagged);
        if (micros === undefined) return refuse(value);
        if (micros > LONGEST_MICROS || micros < -LONGEST_MICROS)
          throw new TypeMismatch("timedelta of at most 10,000 years", `one of ${secondsText(micros)}`);
        return normalizeInt(micros);
      };
    case PrimitiveType.DECIMAL:
      return (value) => {
        if (typeof value === "bigint" || (typeof value === "number" && Number.isFinite(value))) return String(value);
        if (typeof value === "string" && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value.trim())) return value.trim();
        return refuse(value);
      };
    case PrimitiveType.JSON:
      return (value) => value as FeatureValue;
    default:
      throw new Error(`no coercion to type ${type}`);
  }
}

/** Floats that JSON has no number for, and -0, whose sign it may lose. */
const SPECIAL_FLOATS: ReadonlySet<string> = new Set(["NaN", "Infinity", "-Infinity", "-0"]);

/** Whether a date is one that Python's calendar has: year 1 to 9999. */
function isInCalendar(date: Date): boolean {
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

/** The longest length of time that the contract has, 10,000 years, in microseconds. */
export const LONGEST_MICROS = 315_576_000_000_000_000n;

const SECONDS = /^([+-]?)(\d{1,15})(?:\.(\d{1,6}))?s$/;

/**
 * Microseconds of a length of time: a number of microseconds (lenient: of seconds), or text such as
 * `1h30m` or `-5s`. Undefined for what is none.
 */
function microsOf(value: unknown, lenient: boolean): bigint | undefined {
  if (typeof value === "bigint") return lenient ? value * 1_000_000n : value;
  if (typeof value === "number") return whole(value, lenient ? 1_000_000 : 1);
  if (typeof value !== "string") return undefined;
  const seconds = SECONDS.exec(value.trim());
  if (seconds) return BigInt(`${seconds[1]}${seconds[2]}${(seconds[3] ?? "").padEnd(6, "0")}`.replace("+", ""));
  const ms = parseDuration(value.trim().replace(/^-/, ""));
  return ms === undefined ? undefined : whole(ms, value.trim().startsWith("-") ? -1000 : 1000);
}

/**
 * Microseconds as the worker writes them. Undefined for what it would not write, which is a value
 * that only looks like a length of time.
 */
function taggedMicros(tagged: unknown): bigint | undefined {
  const isWhole = typeof tagged === "string" ? /^-?\d{1,20}$/.test(tagged) : typeof tagged === "bigint" || Number.isSafeInteger(tagged);
  return isWhole ? BigInt(tagged as string | number | bigint) : undefined;
}

/** A number times an integer, rounded; what is before the point is multiplied exactly. */
function whole(value: number, times: number): bigint | undefined {
  if (!Number.isFinite(value)) return undefined;
  const before = Math.trunc(value);
  return BigInt(before) * BigInt(times) + BigInt(Math.round((value - before) * times));
}

/** Seconds of a length of time as exact text: `1.5s`. */
function secondsText(micros: bigint): string {
  const digits = (micros < 0n ? -micros : micros).toString().padStart(7, "0");
  const fraction = digits.slice(-6).replace(/0+$/, "");
  return `${micros < 0n ? "-" : ""}${digits.slice(0, -6)}${fraction && `.${fraction}`}s`;
}

/**
 * A length of time in microseconds as plain JSON: a number of seconds where that is exact to the
 * microsecond, else text.
 */
export function plainLength(micros: number | bigint): number | string {
  const seconds = Number(micros) / 1e6;
  return Math.abs(seconds) < 2 ** 32 ? seconds : secondsText(BigInt(micros));
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** A stand-in for a number until `JSON.stringify`, which writes the number as it is given here. */
function rawJson(number: string): unknown {
  return (JSON as JSON & { rawJSON(text: string): unknown }).rawJSON(number);
}

/** The stand-in for -0, for which `JSON.stringify` has no number. */
const NEGATIVE_ZERO = rawJson("-0.0");

/** Options of plain JSON. */
export interface JsonForm {
  /** Whether integers beyond 2^53 are numbers all the same. */
  readonly largeNumbers?: boolean;
  /** Whether structs are lists of their fields' values, in order. */
  readonly structsAsLists?: boolean;
  /**
   * Types, by identity, whose integers and lengths of time are text, also those that a number would
   * hold.
   */
  readonly texts?: ReadonlySet<DataType>;
}

/**
 * The value as JSON for thin clients and `--json`; see the table above. Without a type, numbers and
 * text stand as they are.
 */
export function toPlainJson(value: FeatureValue, type?: DataType, form: JsonForm = {}): unknown {
  if (value === null) return null;
  const isLength = type?.kind.case === "primitive" && type.kind.value === PrimitiveType.TIMEDELTA;
  if (isLength && (typeof value === "bigint" || Number.isFinite(value)))
    return form.texts?.has(type) ? secondsText(BigInt(value as number | bigint)) : plainLength(value as number | bigint);
  if (typeof value === "bigint") return form.largeNumbers ? rawJson(value.toString()) : value.toString();
  if (typeof value === "number") {
    if (type && form.texts?.has(type)) return value.toString();
    if (!Number.isFinite(value))
      return {
        $float: Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity",
      };
    return Object.is(value, -0) ? NEGATIVE_ZERO : value;
  }
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (value instanceof Uint8Array) return toBase64(value);
  if (Array.isArray(value)) {
    const element = type?.kind.case === "list" ? type.kind.value.element : undefined;
    return value.map((item) => toPlainJson(item, element, form));
  }
  if (type?.kind.case !== "struct")
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toPlainJson(item, undefined, form)]));
  const { fields } = type.kind.value;
  if (form.structsAsLists) return fields.map(({ name, dtype }) => toPlainJson(value[name] ?? null, dtype, form));
  const types = new Map(fields.map(({ name, dtype }) => [name, dtype]));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toPlainJson(item, types.get(name), form)]));
}

/**
 * Text form that keeps every value exactly: JSON with `{"$int": "..."}` for integers beyond 2^53,
 * `{"$float": ...}` for NaN, the infinities and -0, `{"$bytes": base64}`; an object of one field
 * that looks like one of these gets another `$` before its name. Used by the stores and on the
 * worker's socket. `decodeStored` reads it.
 */
export function encodeStored(value: FeatureValue): string {
  return JSON.stringify(tagged(value));
}

/** An object of one field whose name would be read as a tag gets one more `$` in front. */
function escapedTag(name: string, fields: number): string {
  return fields === 1 && TAG.test(name) ? `$${name}` : name;
}

const TAG = /^\$+(?:int|float|bytes)$/;

/** The tagged form as an object, for embedding in a larger JSON document. */
export function tagged(value: FeatureValue): unknown {
  switch (typeof value) {
    case "bigint":
      return { $int: value.toString() };
    case "number":
      if (!Number.isFinite(value))
        return {
          $float: Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity",
        };
      return Object.is(value, -0) ? { $float: "-0" } : value;
    case "object":
      if (value === null) return null;
      if (value instanceof Uint8Array) return { $bytes: toBase64(value) };
      if (Array.isArray(value)) return value.map(tagged);
      return Object.fromEntries(Object.entries(value).map(([name, item], _index, all) => [escapedTag(name, all.length), tagged(item)]));
    default:
      return value;
  }
}

/** The value that `encodeStored` encoded. */
export function decodeStored(text: string): FeatureValue {
  return untagged(JSON.parse(text));
}

/** The value of an object that `tagged` made. */
export function untagged(value: unknown): FeatureValue {
  if (value === null || typeof value !== "object") return value as FeatureValue;
  if (Array.isArray(value)) return value.map(untagged);
  const keys = Object.keys(value);
  if (keys.length === 1) {
    const body = (value as Record<string, unknown>)[keys[0] as string];
    if (keys[0] === "$int") return BigInt(String(body));
    if (keys[0] === "$float") return Number(body);
    if (keys[0] === "$bytes") return fromBase64(String(body));
    if (TAG.test(keys[0] as string)) return { [(keys[0] as string).slice(1)]: untagged(body) };
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, untagged(item)]));
}
