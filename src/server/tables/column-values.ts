/** Values of features to bytes of columns, and back, by their types. */

import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { formatMicros, parseInstant } from "../../domain/timestamp.ts";
import { describeValue, type FeatureValue, parseExactJson, primitiveOf, toPlainJson, typeName } from "../../domain/value.ts";
import { FrameReader, FrameWriter, hasBit } from "./column-frame.ts";
import { TableError } from "./engine.ts";

/** Values of a column or of a part of it. */
type Values = readonly (FeatureValue | undefined)[];

/** A column whose decimals do not all fit `decimal(38, 9)`. */
export interface WideDecimals {
  /** Set when a decimal has more digits than 29 before or 9 behind the point. */
  isWide: boolean;
}

/**
 * Writes a column. Undefined is null. Throws TableError for a value that is not of the type, and
 * for text that is no Unicode.
 */
export function writeValues(into: FrameWriter, dtype: DataType, values: Values, name: string, wide: WideDecimals): void {
  const { kind } = dtype;
  const rows = values.length;
  into.nulls(
    rows,
    values.some((value) => value === null || value === undefined),
    (row) => values[row] === null || values[row] === undefined,
  );
  if (kind.case === "list") {
    const offsets = into.reserve((rows + 1) * 4);
    const words = into.words(offsets, rows + 1);
    const elements: FeatureValue[] = [];
    for (let row = 0; row < rows; row++) {
      const list = values[row] ?? [];
      if (!Array.isArray(list)) throw misfit(name, dtype, list);
      for (const element of list) elements.push(element);
      words[row + 1] = elements.length;
    }
    writeValues(into, kind.value.element as DataType, elements, name, wide);
    return;
  }
  if (kind.case === "struct") {
    for (const value of values)
      if (value !== null && value !== undefined && (typeof value !== "object" || Array.isArray(value) || value instanceof Uint8Array))
        throw misfit(name, dtype, value);
    const structs = values as readonly (Readonly<Record<string, FeatureValue>> | null | undefined)[];
    for (const field of kind.value.fields) {
      const parts = structs.map((struct) => (struct && Object.hasOwn(struct, field.name) ? struct[field.name] : null));
      writeValues(into, field.dtype as DataType, parts, `${name}.${field.name}`, wide);
    }
    return;
  }
  writePlain(into, dtype, values, name, wide);
}

function writePlain(into: FrameWriter, dtype: DataType, values: Values, name: string, wide: WideDecimals): void {
  const rows = values.length;
  const refuse = (value: FeatureValue): never => {
    throw misfit(name, dtype, value);
  };
  switch (primitiveOf(dtype)) {
    case PrimitiveType.BOOL: {
      const bytes = into.at(into.reserve(rows), rows);
      for (let row = 0; row < rows; row++) {
        const value = values[row] ?? false;
        if (typeof value !== "boolean") refuse(value);
        bytes[row] = value ? 1 : 0;
      }
      return;
    }
    case PrimitiveType.INT64:
    case PrimitiveType.TIMEDELTA: {
      const offset = into.reserve(rows * 8);
      const { view } = into;
      for (let row = 0; row < rows; row++) {
        const value = values[row] ?? 0;
        if (typeof value === "bigint" && value >= -(2n ** 63n) && value < 2n ** 63n) view.setBigInt64(offset + row * 8, value, true);
        else if (typeof value === "number" && Number.isSafeInteger(value)) setInt64(view, offset + row * 8, value);
        else refuse(value);
      }
      return;
    }
    case PrimitiveType.FLOAT64: {
      const offset = into.reserve(rows * 8);
      const { view } = into;
      for (let row = 0; row < rows; row++) {
        const value = values[row] ?? 0;
        if (typeof value !== "number") refuse(value);
        view.setFloat64(offset + row * 8, value as number, true);
      }
      return;
    }
    case PrimitiveType.DATE: {
      const offset = into.reserve(rows * 4);
      const { view } = into;
      for (let row = 0; row < rows; row++) {
        const value = values[row];
        if (value === null || value === undefined) continue;
        const days = typeof value === "string" && value.length === 10 ? dayOf(value) : undefined;
        if (days === undefined) refuse(value);
        view.setInt32(offset + row * 4, days as number, true);
      }
      return;
    }
    case PrimitiveType.DATETIME: {
      const offset = into.reserve(rows * 8);
      const { view } = into;
      for (let row = 0; row < rows; row++) {
        const value = values[row];
        if (value === null || value === undefined) continue;
        if (typeof value !== "string" || !setInstant(view, offset + row * 8, value)) refuse(value);
      }
      return;
    }
    default:
      writePieces(into, rows, pieceOf(primitiveOf(dtype), values, name, wide, refuse));
  }
}

/** The text or bytes of a row; undefined for null. */
type PieceOfRow = (row: number) => string | Uint8Array | undefined;

function pieceOf(
  type: PrimitiveType,
  values: Values,
  name: string,
  wide: WideDecimals,
  refuse: (value: FeatureValue) => never,
): PieceOfRow {
  const present =
    (piece: (value: Exclude<FeatureValue, null>) => string | Uint8Array): PieceOfRow =>
    (row) => {
      const value = values[row];
      return value === null || value === undefined ? undefined : piece(value);
    };
  switch (type) {
    case PrimitiveType.BYTES:
      return present((value) => (value instanceof Uint8Array ? value : refuse(value)));
    case PrimitiveType.JSON:
      return present((value) => jsonText(value, name));
    case PrimitiveType.DECIMAL:
      return present((value) => {
        const text = typeof value === "string" ? plainDecimal(value) : undefined;
        if (text === undefined) return refuse(value);
        if (!NARROW_DECIMAL.test(text)) wide.isWide = true;
        return text;
      });
    default:
      return present((value) => {
        if (typeof value !== "string") return refuse(value);
        if (!value.isWellFormed()) throw loneSurrogate(name);
        return value;
      });
  }
}

const DAY_MICROS = 86_400_000_000n;

/** Decimals that `decimal(38, 9)` holds: at most 29 digits before the point and 9 behind it. */
const NARROW_DECIMAL = /^-?\d{1,29}(\.\d{1,9})?$/;

/** Largest exponent of a decimal: larger ones would become long texts of zeros. */
const MAX_EXPONENT = 1_000;

/**
 * A decimal without exponent and without zeros that mean nothing: `1.50e1` is `15`. Undefined for
 * text that is no decimal, or has an exponent beyond 1,000.
 */
export function plainDecimal(text: string): string | undefined {
  const [, sign, before, behind, exponentText] = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$/.exec(text) ?? [];
  if (before === undefined || `${before}${behind ?? ""}` === "") return undefined;
  const exponent = Number(exponentText ?? 0);
  if (Math.abs(exponent) > MAX_EXPONENT) return undefined;
  const digits = `${before}${behind ?? ""}`;
  const point = before.length + exponent;
  const padded = point < 0 ? "0".repeat(-point) + digits : digits.padEnd(point, "0");
  const at = Math.max(0, point);
  const whole = padded.slice(0, at).replace(/^0+(?=\d)/, "") || "0";
  const fraction = padded.slice(at).replace(/0+$/, "");
  const plain = fraction === "" ? whole : `${whole}.${fraction}`;
  return sign === "-" && plain !== "0" ? `-${plain}` : plain;
}

/** Days since 1970 of the date that a text begins with; undefined when it does not exist. */
function dayOf(text: string): number | undefined {
  if (text.charCodeAt(4) !== 45 || text.charCodeAt(7) !== 45) return undefined;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 7);
  const day = digits(text, 8, 10);
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1)) return undefined;
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 1 : 0;
  if (day > (MONTH_DAYS[month] as number) + (month === 2 ? leap : 0)) return undefined;
  const shifted = month <= 2 ? year - 1 : year;
  const ofYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return 365 * shifted + Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400) + ofYear - MARCH_OF_YEAR_0;
}

/** Days of the months, from January at 1, of a year that is not a leap year. */
const MONTH_DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** Days from 1 March of the year 0 to 1970. */
const MARCH_OF_YEAR_0 = 719_468;

/** The number that digits of a text say; NaN when others are among them. */
function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (!(digit >= 0 && digit <= 9)) return Number.NaN;
    value = value * 10 + digit;
  }
  return value;
}

/**
 * Writes an instant, in its canonical form quickly; false for text that is none. Beyond the year
 * 2255 microseconds are no safe numbers.
 */
function setInstant(view: DataView, offset: number, text: string): boolean {
  if (text.length === CANONICAL_LENGTH && text.charCodeAt(26) === 90 && text.charCodeAt(10) === 84) {
    const days = dayOf(text);
    const [hour, minute, second, micros] = [digits(text, 11, 13), digits(text, 14, 16), digits(text, 17, 19), digits(text, 20, 26)];
    const isTime = text[13] === ":" && text[16] === ":" && text[19] === "." && hour <= 23 && minute <= 59 && second <= 59 && micros >= 0;
    const value = (days ?? 0) * 86_400_000_000 + ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros;
    if (days !== undefined && isTime && Number.isSafeInteger(value)) {
      setInt64(view, offset, value);
      return true;
    }
  }
  const micros = parseInstant(text)?.micros;
  if (micros === undefined) return false;
  view.setBigInt64(offset, micros, true);
  return true;
}

/** Characters of `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
const CANONICAL_LENGTH = 27;

function setInt64(view: DataView, offset: number, value: number): void {
  view.setUint32(offset, value, true);
  view.setInt32(offset + 4, Math.floor(value / 2 ** 32), true);
}

/** Writes text or bytes. */
function writePieces(into: FrameWriter, rows: number, piece: PieceOfRow): void {
  const offsets = into.reserve((rows + 1) * 4);
  const start = into.length;
  for (let row = 0; row < rows; row++) {
    const value = piece(row);
    if (typeof value === "string") {
      const at = into.room(value.length * 3);
      into.take(UTF8.encodeInto(value, into.at(at, value.length * 3)).written);
    } else if (value) {
      const at = into.room(value.length);
      into.at(at, value.length).set(value);
      into.take(value.length);
    }
    into.view.setUint32(offsets + (row + 1) * 4, into.length - start, true);
  }
  into.pad();
}

const UTF8 = new TextEncoder();

function jsonText(value: FeatureValue, name: string): string {
  const text = JSON.stringify(toPlainJson(value, undefined, { largeNumbers: true }));
  if (/\\u[dD][89a-fA-F]/.test(text) && hasLoneSurrogate(value)) throw loneSurrogate(name);
  return text;
}

function hasLoneSurrogate(value: FeatureValue): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return false;
  if (Array.isArray(value)) return value.some(hasLoneSurrogate);
  return Object.entries(value).some(([field, item]) => !field.isWellFormed() || hasLoneSurrogate(item));
}

function loneSurrogate(name: string): TableError {
  return new TableError("refused", `a text of ${name} is no Unicode: it has half of a pair of surrogates`);
}

function misfit(name: string, dtype: DataType, value: FeatureValue): TableError {
  return new TableError("refused", `${name}: expected ${typeName(dtype)}, got ${describeValue(value)}`);
}

/** Reads a column. Throws TableError for what the type has no value for. */
export function readValues(from: FrameReader, dtype: DataType, rows: number, name: string): FeatureValue[] {
  const { kind } = dtype;
  const mask = from.nulls(rows);
  if (kind.case === "list") {
    const offsets = from.words(rows + 1);
    const elements = readValues(from, kind.value.element as DataType, offsets[rows] as number, name);
    return each(rows, mask, (row) => elements.slice(offsets[row], offsets[row + 1]));
  }
  if (kind.case === "struct") {
    const fields = kind.value.fields.map((field) => ({
      name: field.name,
      values: readValues(from, field.dtype as DataType, rows, `${name}.${field.name}`),
    }));
    return each(rows, mask, (row) => Object.fromEntries(fields.map((field) => [field.name, field.values[row] as FeatureValue])));
  }
  switch (primitiveOf(dtype)) {
    case PrimitiveType.BOOL: {
      const bytes = from.part(rows);
      return each(rows, mask, (row) => bytes[row] === 1);
    }
    case PrimitiveType.INT64:
    case PrimitiveType.TIMEDELTA: {
      const view = from.view(rows * 8);
      return each(rows, mask, (row) => int64At(view, row * 8));
    }
    case PrimitiveType.FLOAT64: {
      const view = from.view(rows * 8);
      return each(rows, mask, (row) => view.getFloat64(row * 8, true));
    }
    case PrimitiveType.DATE: {
      const view = from.view(rows * 4);
      return each(rows, mask, (row) => {
        const days = view.getInt32(row * 4, true);
        if (days < FIRST_DAY || days > LAST_DAY) throw outsideOfCalendar(name);
        return formatMicros(BigInt(days) * DAY_MICROS).slice(0, 10);
      });
    }
    case PrimitiveType.DATETIME: {
      const view = from.view(rows * 8);
      return each(rows, mask, (row) => {
        const micros = int64At(view, row * 8);
        if (typeof micros === "bigint" && (micros < FIRST_MICROS || micros > LAST_MICROS)) throw outsideOfCalendar(name);
        return formatMicros(micros);
      });
    }
    case PrimitiveType.BYTES:
      return readPieces(from, rows, mask, (bytes) => new Uint8Array(bytes));
    case PrimitiveType.JSON:
      return readPieces(from, rows, mask, (bytes) => parseExactJson(bytes.toString()) as FeatureValue);
    case PrimitiveType.DECIMAL:
      return readPieces(from, rows, mask, (bytes) => plainDecimal(bytes.toString()) ?? bytes.toString());
    default:
      return readPieces(from, rows, mask, (bytes) => bytes.toString());
  }
}

/** Days and microseconds of the years 1 to 9999, which are no safe numbers. */
const FIRST_DAY = -719_162;
const LAST_DAY = 2_932_896;
const FIRST_MICROS = BigInt(FIRST_DAY) * DAY_MICROS;
const LAST_MICROS = BigInt(LAST_DAY + 1) * DAY_MICROS - 1n;

function outsideOfCalendar(name: string): TableError {
  return new TableError("damaged", `${name} has a time outside of the years 1 to 9999`);
}

function each(rows: number, mask: Uint8Array | undefined, value: (row: number) => FeatureValue): FeatureValue[] {
  const values = new Array<FeatureValue>(rows);
  for (let row = 0; row < rows; row++) values[row] = mask && !hasBit(mask, row) ? null : value(row);
  return values;
}

function int64At(view: DataView, offset: number): number | bigint {
  const high = view.getInt32(offset + 4, true);
  if (high >= -0x200000 && high < 0x200000) {
    const value = high * 2 ** 32 + view.getUint32(offset, true);
    if (Number.isSafeInteger(value)) return value;
  }
  return view.getBigInt64(offset, true);
}

function readPieces(from: FrameReader, rows: number, mask: Uint8Array | undefined, value: (bytes: Buffer) => FeatureValue): FeatureValue[] {
  const offsets = from.words(rows + 1);
  const part = from.part(offsets[rows] as number);
  const bytes = Buffer.from(part.buffer as ArrayBuffer, part.byteOffset, part.length);
  return each(rows, mask, (row) => value(bytes.subarray(offsets[row], offsets[row + 1])));
}

/** Rows of several columns as a frame. Throws TableError. */
export function encodeRows(
  columns: readonly { readonly name: string; readonly dtype: DataType; readonly values: Values }[],
  wide: readonly WideDecimals[],
): Uint8Array {
  const into = new FrameWriter();
  for (const [at, { name, dtype, values }] of columns.entries()) writeValues(into, dtype, values, name, wide[at] as WideDecimals);
  return into.written;
}

/** The columns of a frame. Throws TableError. */
export function decodeRows(
  frame: Uint8Array,
  columns: readonly { readonly name: string; readonly dtype: DataType }[],
  rows: number,
): FeatureValue[][] {
  const from = new FrameReader(frame);
  return columns.map(({ name, dtype }) => readValues(from, dtype, rows, name));
}
