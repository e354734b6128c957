/** Values of the contract as plain JSON, as pages show them. */

import type { ValueJson } from "../../../gen/svc/v1/value_pb.ts";

/** A value as JSON writes it; whole numbers that JSON's numbers do not hold stay texts. */
export function plainOf(value: ValueJson | undefined): unknown {
  if (value === undefined) return null;
  if (value.int64Value !== undefined) return wholeNumber(value.int64Value);
  if (value.listValue !== undefined) return (value.listValue.values ?? []).map(plainOf);
  if (value.structValue !== undefined)
    return Object.fromEntries((value.structValue.fields ?? []).map(({ name = "", value: field }) => [name, plainOf(field)]));
  if (value.dateValue !== undefined) {
    const { day = 0, month = 0, year = 0 } = value.dateValue;
    return [String(year).padStart(4, "0"), String(month).padStart(2, "0"), String(day).padStart(2, "0")].join("-");
  }
  const { boolValue, bytesValue, decimalValue, doubleValue, durationValue, stringValue, timestampValue } = value;
  return doubleValue ?? boolValue ?? stringValue ?? timestampValue ?? durationValue ?? decimalValue ?? bytesValue ?? null;
}

function wholeNumber(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}
