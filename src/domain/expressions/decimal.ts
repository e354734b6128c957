/** Exact arithmetic on decimal text. */

import type { FeatureValue } from "../value.ts";

interface Decimal {
  /** The digits as an integer. */
  readonly digits: bigint;
  /** The number of them behind the point. */
  readonly scale: number;
}

function parse(text: string): Decimal {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = BigInt(`${whole.replace("+", "").replace(/^(-?)$/, "$10")}${fraction}`);
  const scale = fraction.length - Number(exponent);
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}

function format({ digits, scale }: Decimal): string {
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, "0");
  const sign = digits < 0n ? "-" : "";
  return scale === 0 ? sign + text : `${sign}${text.slice(0, -scale)}.${text.slice(-scale)}`;
}

function aligned(a: string, b: string): { left: bigint; right: bigint; scale: number } {
  const [x, y] = [parse(a), parse(b)];
  const scale = Math.max(x.scale, y.scale);
  return { left: x.digits * 10n ** BigInt(scale - x.scale), right: y.digits * 10n ** BigInt(scale - y.scale), scale };
}

/** The sum, with as many digits behind the point as the longer of the two. */
export function addDecimal(a: string, b: string): string {
  const { left, right, scale } = aligned(a, b);
  return format({ digits: left + right, scale });
}

/** The negated value. */
export function negDecimal(a: string): string {
  const { digits, scale } = parse(a);
  return format({ digits: -digits, scale });
}

/** The product. */
export function mulDecimal(a: string, b: string): string {
  const [x, y] = [parse(a), parse(b)];
  return format({ digits: x.digits * y.digits, scale: x.scale + y.scale });
}

/** Negative, zero or positive, as the first is less, equal or more; `1.0` and `1.00` are equal. */
export function compareDecimal(a: string, b: string): number {
  const { left, right } = aligned(a, b);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether both are the same number; null is the same as null only. */
export function equalDecimal(a: FeatureValue, b: FeatureValue): boolean {
  return typeof a === "string" && typeof b === "string" ? compareDecimal(a, b) === 0 : a === b;
}

/**
 * A text that is the same for equal numbers and differs for others, never longer than what was
 * given.
 */
export function canonicalDecimal(a: string): string {
  const [mantissa = "", exponent = "0"] = a.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace(/^[+-]/, "").split(".");
  const significant = `${whole}${fraction}`.replace(/^0+/, "");
  const digits = significant.replace(/0+$/, "");
  if (digits === "") return "0";
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(significant.length - digits.length);
  return `${mantissa.startsWith("-") ? "-" : ""}${digits}e${power}`;
}
