/**
 * Arithmetic on 64-bit integers, exact: a result outside of 64 bits is an error of the row, never
 * another number.
 */

import { normalizeInt } from "../value.ts";
import type { Int } from "./definition.ts";
import { EvaluationError } from "./evaluation-error.ts";

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** The value in memory of an exact result; throws when it has more than 64 bits. */
export function checkedInt(exact: bigint, operation: string): Int {
  if (exact < MIN || exact > MAX) throw new EvaluationError(`integer overflow in ${operation}: ${exact} does not fit 64 bits`);
  return normalizeInt(exact);
}

/** The sum. */
export function addInt(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return checkedInt(BigInt(a) + BigInt(b), "add");
}

/** The difference. */
export function subInt(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const difference = a - b;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return checkedInt(BigInt(a) - BigInt(b), "sub");
}

/** The product. */
export function mulInt(a: Int, b: Int): Int {
  if (typeof a === "number" && typeof b === "number") {
    const product = a * b;
    if (Number.isSafeInteger(product)) return product + 0;
  }
  return checkedInt(BigInt(a) * BigInt(b), "mul");
}

/** The negated value. */
export function negInt(a: Int): Int {
  return typeof a === "number" ? 0 - a : checkedInt(-a, "neg");
}

/** The quotient rounded towards minus infinity, as Python's `//`. */
export function floordivInt(a: Int, b: Int): Int {
  refuseZero(b);
  if (typeof a === "number" && typeof b === "number") {
    const multiple = a - modInt(a, b);
    if (Number.isSafeInteger(multiple)) return multiple / b + 0;
  }
  const [x, y] = [BigInt(a), BigInt(b)];
  const quotient = x / y;
  return checkedInt(x % y !== 0n && x < 0n !== y < 0n ? quotient - 1n : quotient, "floordiv");
}

/** The rest of `floordivInt`; it has the sign of the divisor, as Python's `%`. */
export function modInt(a: number, b: number): number;
export function modInt(a: Int, b: Int): Int;
export function modInt(a: Int, b: Int): Int {
  refuseZero(b);
  if (typeof a === "number" && typeof b === "number") {
    const rest = a % b;
    return (rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest) + 0;
  }
  const [x, y] = [BigInt(a), BigInt(b)];
  const rest = x % y;
  return normalizeInt(rest !== 0n && rest < 0n !== y < 0n ? rest + y : rest);
}

/** The power; the exponent must not be negative. */
export function powInt(a: Int, b: Int): Int {
  if (b < 0) throw new EvaluationError(`negative exponent ${b} of an int; make the base a float`);
  const base = BigInt(a);
  if (base === 0n || base === 1n) return BigInt(b) === 0n ? 1 : Number(base);
  if (base === -1n) return BigInt(b) % 2n === 0n ? 1 : -1;
  if (b > 64) throw new EvaluationError(`integer overflow in pow: ${a} ** ${b} does not fit 64 bits`);
  return checkedInt(base ** BigInt(b), "pow");
}

/** The quotient as a float, correctly rounded, as Python's `/` of two ints. */
export function divInt(a: Int, b: Int): number {
  refuseZero(b);
  if (typeof a === "number" && typeof b === "number") return a / b;
  const [x, y] = [BigInt(a), BigInt(b)];
  const negative = x < 0n !== y < 0n;
  const [n, d] = [x < 0n ? -x : x, y < 0n ? -y : y];
  const shift = Math.max(0, 66 + d.toString(2).length - n.toString(2).length);
  const scaled = n << BigInt(shift);
  const sticky = scaled % d === 0n ? 0n : 1n;
  const quotient = Number(((scaled / d) << 1n) | sticky) / 2 ** (shift + 1);
  return negative ? -quotient : quotient;
}

function refuseZero(b: Int): void {
  if (b === 0 || b === 0n) throw new EvaluationError("division by zero");
}

/** The int that a whole float is; NaN, the infinities and what is beyond 64 bits are errors. */
export function wholeNumber(value: number, operation: string): Int {
  if (Number.isSafeInteger(value)) return value + 0;
  if (!Number.isFinite(value)) throw new EvaluationError(`${operation} of ${Number.isNaN(value) ? "NaN" : "infinity"}`);
  return checkedInt(BigInt(value), operation);
}
