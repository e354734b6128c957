/** Values of texts, and rows of values. */

import type { ValueJson } from "../../../../gen/svc/v1/value_pb.ts";
import { plainOf } from "../../parts/proto-value.ts";

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
  return values.map((one) => plainOf(one) as Record<string, unknown>);
}
