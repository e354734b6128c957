/** Values as warehouses over HTTP write them: texts, by their columns' types. */

import { formatMicros } from "../../domain/timestamp.ts";
import { jsonOf, normalizeInt } from "../../domain/value.ts";

const DAY_MS = 86_400_000;

/** An integer's text; any other text as it is. */
export function integerOf(value: unknown): unknown {
  return typeof value === "string" && /^-?\d+$/.test(value) ? normalizeInt(BigInt(value)) : value;
}

/** A float's text, `inf` and `NaN` included. */
export function floatOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const named = /^([+-]?)inf(?:inity)?$/i.exec(value);
  if (named) return named[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return /^nan$/i.test(value) ? Number.NaN : Number(value);
}

/** `true`, `false`, `1` or `0`. */
export function boolOf(value: unknown): unknown {
  return typeof value === "string" ? value.toLowerCase() === "true" || value === "1" : value;
}

/** JSON text as what it says. */
export function jsonValue(value: unknown): unknown {
  return typeof value === "string" ? jsonOf(value) : value;
}

/** Days since 1970 as a date; any other text as it is. */
export function dateOfDays(value: unknown): unknown {
  if (typeof value !== "string" || !/^-?\d+$/.test(value)) return value;
  const text = new Date(Number(value) * DAY_MS).toISOString();
  return text.slice(0, text.indexOf("T"));
}

/** Microseconds since 1970 as an instant. */
export function instantOfMicros(value: unknown): unknown {
  return typeof value === "string" && /^-?\d+$/.test(value) ? formatMicros(BigInt(value)) : value;
}

/** Seconds since 1970, with fractions, as an instant to the microsecond. */
export function instantOfSeconds(value: unknown): unknown {
  const [, sign, seconds, fraction = ""] = typeof value === "string" ? (/^(-?)(\d+)(?:\.(\d+))?(?: \d+)?$/.exec(value) ?? []) : [];
  if (seconds === undefined) return value;
  const micros = BigInt(seconds) * 1_000_000n + BigInt(fraction.slice(0, 6).padEnd(6, "0"));
  return formatMicros(sign === "-" ? -micros : micros);
}
