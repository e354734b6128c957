/** Values of the contract's JSON as plain ones, and back. */

import type { ValueJson } from "../../../../gen/svc/v1/value_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { durationMs } from "../define/feature-text.ts";

/**
 * A value as a reader takes it: text, numbers, lists, objects. What a number cannot hold exactly
 * (large integers, decimals), and times, are text.
 */
export function plainValue(value: ValueJson | undefined): unknown {
  if (!value) return null;
  if (value.int64Value !== undefined) return Number.isSafeInteger(Number(value.int64Value)) ? Number(value.int64Value) : value.int64Value;
  if (value.durationValue !== undefined) return formatDuration(durationMs(value.durationValue));
  if (value.dateValue) return dateText(value.dateValue);
  if (value.listValue) return (value.listValue.values ?? []).map(plainValue);
  if (value.structValue)
    return Object.fromEntries((value.structValue.fields ?? []).map(({ name = "", value: own }) => [name, plainValue(own)]));
  return (
    value.doubleValue ?? value.stringValue ?? value.boolValue ?? value.bytesValue ?? value.timestampValue ?? value.decimalValue ?? null
  );
}

function dateText({ year = 0, month = 0, day = 0 }: { readonly year?: number; readonly month?: number; readonly day?: number }): string {
  return `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
}

/** A value of a text: JSON when it parses as that, else the text. */
export function jsonValue(text: string): ValueJson {
  if (/^-?(0|[1-9]\d*)$/.test(text.trim())) return { int64Value: text.trim() };
  try {
    return valueOfPlain(JSON.parse(text));
  } catch {
    return { stringValue: text };
  }
}

function valueOfPlain(plain: unknown): ValueJson {
  if (plain === null) return { nullValue: "NULL_VALUE_UNSPECIFIED" };
  if (typeof plain === "boolean") return { boolValue: plain };
  if (typeof plain === "number") return Number.isSafeInteger(plain) ? { int64Value: String(plain) } : { doubleValue: plain };
  if (Array.isArray(plain)) return { listValue: { values: plain.map(valueOfPlain) } };
  if (typeof plain === "object")
    return { structValue: { fields: Object.entries(plain).map(([name, value]) => ({ name, value: valueOfPlain(value) })) } };
  return { stringValue: String(plain) };
}

/** The rows of a has-many relation; undefined for any other value. */
export function rowsOf(value: ValueJson | undefined): readonly Readonly<Record<string, unknown>>[] | undefined {
  const values = value?.listValue?.values;
  if (!values || values.length === 0 || !values.every(({ structValue }) => structValue !== undefined)) return undefined;
  return values.map((one) => plainValue(one) as Record<string, unknown>);
}
