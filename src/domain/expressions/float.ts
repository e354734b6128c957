/**
 * Arithmetic on floats where Python's rules differ from JavaScript's. NaN and the infinities follow
 * IEEE 754; what Python refuses is an error.
 */

import { EvaluationError } from "./evaluation-error.ts";

/** The quotient; a zero divisor is an error, as in Python. */
export function divFloat(a: number, b: number): number {
  if (b === 0) throw new EvaluationError("division by zero");
  return a / b;
}

/** The rest with the sign of the divisor, as Python's `%`. */
export function modFloat(a: number, b: number): number {
  if (b === 0) throw new EvaluationError("division by zero");
  const rest = a % b;
  if (rest === 0) return b < 0 ? -0 : 0;
  return rest < 0 !== b < 0 ? rest + b : rest;
}

/** The quotient rounded towards minus infinity, as Python's `//`. */
export function floordivFloat(a: number, b: number): number {
  if (b === 0) throw new EvaluationError("division by zero");
  const rest = a % b;
  let quotient = (a - rest) / b;
  if (rest !== 0 && b < 0 !== rest < 0) quotient -= 1;
  if (quotient === 0) return a / b < 0 || Object.is(a / b, -0) ? -0 : 0;
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

/**
 * The power. A negative base with a fraction as exponent, and zero with a negative exponent, are
 * errors.
 */
export function powFloat(a: number, b: number): number {
  if (a === 1 || b === 0) return 1;
  if (a === 0 && b < 0) throw new EvaluationError(`zero to the power of ${b}`);
  if (a < 0 && Number.isFinite(a) && Number.isFinite(b) && !Number.isInteger(b))
    throw new EvaluationError(`negative number ${a} to the power of ${b} is not real`);
  if (a === -1 && !Number.isFinite(b) && !Number.isNaN(b)) return 1;
  return a ** b;
}

/** The nearest whole number, halves to the even one, as Python's `round`. */
export function roundHalfEven(a: number): number {
  const floor = Math.floor(a);
  const above = a - floor;
  if (above < 0.5) return floor;
  if (above > 0.5) return floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

/**
 * The nearest number with so many digits behind the point, judged by the exact value, halves to
 * even, as Python's `round(x, n)`.
 */
export function roundDigits(a: number, digits: number): number {
  if (digits < 0 || digits > 60) throw new EvaluationError(`cannot round to ${digits} digits: 0 to 60 are possible`);
  if (a === 0 || !Number.isFinite(a) || Math.abs(a) >= 2 ** 53) return a;
  const scaled = a * 10 ** digits;
  if (Math.abs(scaled) < 2 ** 40 && Math.abs(scaled - Math.floor(scaled) - 0.5) > 2 ** -10) return Number(a.toFixed(digits));
  const exact = a.toFixed(digits + 40);
  const [kept, dropped] = [exact.slice(0, exact.length - 40), exact.slice(-40)];
  const isTie = /^50*$/.test(dropped);
  if (!isTie) return Number(a.toFixed(digits));
  const whole = BigInt(kept.replace(".", ""));
  if (whole % 2n === 0n) return Number(kept);
  return Number(`${whole + (a < 0 ? -1n : 1n)}e-${digits}`);
}

/** The shortest text that reads back as the float, in Python's format. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const [mantissa = "", power = ""] = value.toExponential().split("e");
  const exponent = Number(power);
  const sign = Object.is(value, -0) ? "-" : "";
  if (exponent < -4 || exponent >= 16)
    return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  const digits = Number.isInteger(value) ? `${value}.0` : exponent < 0 ? value.toFixed(mantissaDigits(mantissa) - exponent) : String(value);
  return sign + digits;
}

function mantissaDigits(mantissa: string): number {
  return mantissa.split(".")[1]?.length ?? 0;
}
