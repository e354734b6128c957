/**
 * Python's arithmetic on int and float, exact: operations that raise, exceed the bounds here or may
 * round differently are left to Python.
 */

import { floordivFloat, modFloat, roundDigits, roundHalfEven } from "../../../domain/expressions/float.ts";
import { Delta, Instant, type PythonValue, unsure } from "./python-value.ts";

/** Largest magnitude of ints that are computed here. */
const LARGEST = 2n ** 512n;
const SAFE = 2n ** 53n;
const MAX_EXPONENT = 64n;
/** Magnitude below which floats are rounded to digits here. */
const ROUNDED_BELOW = 1e15;
const MAX_DIGITS = 15n;

function bounded(value: bigint): bigint {
  return value <= LARGEST && value >= -LARGEST ? value : unsure();
}

/** An int or float; a bool counts as 0 or 1. */
export function numberOf(value: PythonValue): bigint | number {
  if (typeof value === "bigint" || typeof value === "number") return value;
  return typeof value === "boolean" ? BigInt(value) : unsure();
}

/** The float of an int or float. Ints that a float may not represent exactly are left to Python. */
export function floatOf(value: PythonValue): number {
  const number = numberOf(value);
  if (typeof number === "number") return number;
  return number <= SAFE && number >= -SAFE ? Number(number) : unsure();
}

/** An int; a bool counts as 0 or 1. */
export function intOf(value: PythonValue): bigint {
  const number = numberOf(value);
  return typeof number === "bigint" ? number : unsure();
}

type OfInts = (a: bigint, b: bigint) => PythonValue;
type OfFloats = (a: number, b: number) => number;

function arithmetic(ints: OfInts, floats: OfFloats): (a: PythonValue, b: PythonValue) => PythonValue {
  return (a, b) => {
    if (typeof a === "number" && typeof b === "number") return floats(a, b);
    const [x, y] = [numberOf(a), numberOf(b)];
    return typeof x === "bigint" && typeof y === "bigint" ? ints(x, y) : floats(floatOf(x), floatOf(y));
  };
}

function divisor<T extends bigint | number>(value: T): T {
  return Number(value) === 0 ? unsure() : value;
}

const addNumbers = arithmetic(
  (a, b) => bounded(a + b),
  (a, b) => a + b,
);
const subNumbers = arithmetic(
  (a, b) => bounded(a - b),
  (a, b) => a - b,
);

/** `a + b` of numbers or texts. */
export function add(a: PythonValue, b: PythonValue): PythonValue {
  return typeof a === "string" && typeof b === "string" ? a + b : addNumbers(a, b);
}

/** `a - b` of numbers or times. */
export function sub(a: PythonValue, b: PythonValue): PythonValue {
  return a instanceof Instant && b instanceof Instant ? new Delta(a.micros - b.micros) : subNumbers(a, b);
}

/** `a * b` */
export const mul = arithmetic(
  (a, b) => bounded(a * b),
  (a, b) => a * b,
);

/** `a / b` */
export function truediv(a: PythonValue, b: PythonValue): PythonValue {
  return floatOf(a) / divisor(floatOf(b));
}

/** `a // b` */
export const floordiv = arithmetic(
  (a, b) => {
    const quotient = a / divisor(b);
    return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
  },
  (a, b) => floordivFloat(a, divisor(b)),
);

/** `a % b` */
export const mod = arithmetic(
  (a, b) => {
    const rest = a % divisor(b);
    return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
  },
  (a, b) => modFloat(a, divisor(b)),
);

/** `a ** b` of ints; powers of floats differ between platforms. */
export function pow(a: PythonValue, b: PythonValue): PythonValue {
  const [base, exponent] = [intOf(a), intOf(b)];
  return exponent >= 0n && exponent <= MAX_EXPONENT ? bounded(base ** exponent) : unsure();
}

/** `-a` */
export function neg(a: PythonValue): PythonValue {
  return -numberOf(a);
}

/** `abs(a)` */
export function abs(a: PythonValue): PythonValue {
  const number = numberOf(a);
  if (typeof number === "number") return Math.abs(number);
  return number < 0n ? -number : number;
}

/** Rounding of a float to an int by a rule; an int stays as it is. */
export function whole(rule: (value: number) => number): (a: PythonValue) => PythonValue {
  return (a) => {
    const number = numberOf(a);
    if (typeof number === "bigint") return number;
    return Number.isFinite(number) ? BigInt(rule(number)) : unsure();
  };
}

/** `round(a)` */
export const roundToInt = whole(roundHalfEven);

/** `round(a, digits)` */
export function roundTo(a: PythonValue, digits: PythonValue): PythonValue {
  const [number, places] = [numberOf(a), intOf(digits)];
  if (places < 0n || places > MAX_DIGITS) return unsure();
  if (typeof number === "bigint") return number;
  return Math.abs(number) < ROUNDED_BELOW ? roundDigits(number, Number(places)) : unsure();
}

/** `math.sqrt(a)` */
export function sqrt(a: PythonValue): PythonValue {
  const number = floatOf(a);
  return number < 0 ? unsure() : Math.sqrt(number);
}

/** `math.fmod(a, b)` */
export function fmod(a: PythonValue, b: PythonValue): PythonValue {
  const [x, y] = [floatOf(a), divisor(floatOf(b))];
  return Number.isFinite(x) && !Number.isNaN(y) ? x % y : unsure();
}

/** `math.copysign(a, b)` */
export function copysign(a: PythonValue, b: PythonValue): PythonValue {
  const [size, sign] = [Math.abs(floatOf(a)), floatOf(b)];
  if (Number.isNaN(sign)) return unsure();
  return sign < 0 || Object.is(sign, -0) ? -size : size;
}
