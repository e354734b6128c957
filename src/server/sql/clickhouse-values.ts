/** Values of ClickHouse: its types by their texts, and parameters as it reads them. */

import { type FeatureValue, normalizeInt } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";
import { isoInstant } from "./instant-text.ts";
import { ParameterError } from "./source.ts";
import type { WebColumn } from "./web-source.ts";

const WRAPPERS = /^(?:Nullable|LowCardinality)\((.*)\)$/s;
const INTEGER = /^U?Int\d+$/;
const COMPARABLE: Readonly<Record<string, ColumnType>> = {
  String: "text",
  Bool: "bool",
  Date: "date",
  Date32: "date",
  Float64: "float",
};
/** Instants in the form of feature values. */
const INSTANT = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2}\.\d{6})Z$/;
/** Years that `DateTime64` has. */
const DATETIME_YEARS = /^(?:19|2[012])\d\d-/;

/** A column with the type that a server writes. */
export function clickhouseColumn(name: string, text: string): WebColumn {
  const type = withoutWrappers(text);
  const base = /^\w+/.exec(type)?.[0] ?? type;
  return {
    name,
    type: { name: base, ...(base === "UUID" && { kind: "uuid" as const }) },
    comparable: comparableType(type, base),
    read: valueReader(type) ?? ((value) => value),
  };
}

function comparableType(type: string, base: string): ColumnType | undefined {
  if (/^U?Int(?:8|16|32|64)$/.test(type)) return "int";
  if (base === "Decimal") return "decimal";
  // What is finer than microseconds is not read, and floats of 32 bits are read by their digits.
  if (base === "DateTime64") return /^DateTime64\([0-6]\b/.test(type) ? "timestamptz" : undefined;
  return base === "DateTime" ? "timestamptz" : COMPARABLE[type];
}

function withoutWrappers(text: string): string {
  const inner = WRAPPERS.exec(text)?.[1];
  return inner === undefined ? text : withoutWrappers(inner);
}

/** The conversion of values as JSON has them; undefined when they are what they should be. */
function valueReader(wrapped: string): ((value: unknown) => unknown) | undefined {
  const type = withoutWrappers(wrapped);
  if (INTEGER.test(type)) return (value) => normalizeInt(BigInt(value as string | number | bigint));
  if (type.startsWith("Float")) return (value) => (typeof value === "string" ? Number(value.replace("inf", "Infinity")) : Number(value));
  if (type.startsWith("DateTime")) return (value) => (typeof value === "string" ? isoInstant(value) : value);
  const [, outer, inner] = /^(Array|Map|Tuple)\((.*)\)$/s.exec(type) ?? [];
  if (outer === undefined || inner === undefined) return undefined;
  const parts = splitTypes(inner);
  if (outer === "Array") return listReader(parts[0] as string);
  if (outer === "Map") return recordReader(() => parts[1] as string);
  const fields = parts.map((part) => /^(?:(\w+|`[^`]+`) )?(.*)$/s.exec(part) ?? []);
  const named = new Map(fields.map(([, name = "", fieldType = ""]) => [name.replaceAll("`", ""), fieldType]));
  if (!named.has("")) return recordReader((name) => named.get(name) ?? "");
  const readers = fields.map(([, , fieldType = ""]) => orNull(fieldType));
  return (value) => (Array.isArray(value) ? value.map((one, at) => readers[at]?.(one) ?? null) : value);
}

function orNull(type: string): (value: unknown) => unknown {
  const read = valueReader(type);
  return (value) => (value === null || !read ? value : read(value));
}

function listReader(type: string): (value: unknown) => unknown {
  const read = orNull(type);
  return (value) => (Array.isArray(value) ? value.map(read) : value);
}

function recordReader(typeOf: (name: string) => string): (value: unknown) => unknown {
  return (value) => Object.fromEntries(Object.entries(value as object).map(([name, one]) => [name, orNull(typeOf(name))(one)]));
}

/** The types of a list, by the commas that are in no parentheses and no quotes. */
function splitTypes(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: found, index } of text.matchAll(/'(?:[^'\\]|\\.)*'|[(),]/g)) {
    if (found === "(") depth++;
    else if (found === ")") depth--;
    else if (found === "," && depth === 0) {
      parts.push(text.slice(from, index).trim());
      from = index + 1;
    }
  }
  return [...parts, text.slice(from).trim()];
}

/**
 * A parameter: its type, and its value as text with escapes. Instants are times to ClickHouse,
 * which else compares them with times by their seconds.
 */
export function clickhouseParameter(value: FeatureValue, position: number): { readonly type: string; readonly text: string } {
  if (value === null) return { type: "Nullable(Nothing)", text: "\\N" };
  switch (typeof value) {
    case "boolean":
      return { type: "Bool", text: String(value) };
    case "bigint":
      return { type: "Int64", text: String(value) };
    case "number":
      if (Number.isSafeInteger(value)) return { type: "Int64", text: String(value) };
      return { type: "Float64", text: String(value).replace("Infinity", "inf").replace("NaN", "nan") };
    case "string": {
      const [, date = "", time] = INSTANT.exec(value) ?? [];
      if (time !== undefined && DATETIME_YEARS.test(date)) return { type: "DateTime64(6, 'UTC')", text: `${date} ${time}` };
      return {
        type: "String",
        text: value.replaceAll("\\", "\\\\").replaceAll("\t", "\\t").replaceAll("\n", "\\n").replaceAll("\0", "\\0"),
      };
    }
    default:
      throw new ParameterError(position, "is no single value, and statements of ClickHouse are given none but those");
  }
}
