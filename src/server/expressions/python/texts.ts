/**
 * Python's operations on str, by code points. Results that depend on a version of Unicode are left
 * to Python.
 */

import { codePoints, sliceText, textLength } from "../../../domain/expressions/text.ts";
import { intOf } from "./numbers.ts";
import { type PythonValue, unsure } from "./python-value.ts";

const ASCII = /^[\0-\x7f]*$/;
/** The ASCII characters that `strip` removes. */
const SPACE = "\t\n\v\f\r\x1c\x1d\x1e\x1f ";
const INT = /^[+-]?\d{1,100}$/;
const FLOAT = /^[+-]?(?:\d{1,100}(?:\.\d{0,100})?|\.\d{1,100})(?:[eE][+-]?\d{1,4})?$/;

/** A str. */
export function textOf(value: PythonValue): string {
  return typeof value === "string" ? value : unsure();
}

function asciiOf(value: PythonValue): string {
  const text = textOf(value);
  return ASCII.test(text) ? text : unsure();
}

/** `len(a)` */
export function length(a: PythonValue): PythonValue {
  return BigInt(textLength(textOf(a)));
}

/** `a.lower()` */
export function lower(a: PythonValue): PythonValue {
  return asciiOf(a).toLowerCase();
}

/** `a.upper()` */
export function upper(a: PythonValue): PythonValue {
  return asciiOf(a).toUpperCase();
}

/** `a.strip()`, `a.lstrip(characters)` and so on. */
export function strip(left: boolean, right: boolean): (a: PythonValue, characters?: PythonValue) => PythonValue {
  return (a, characters = null) => {
    const points = codePoints(textOf(a));
    const dropped = new Set(characters === null ? SPACE : codePoints(textOf(characters)));
    const isDropped = (at: number) => {
      const character = points[at] as string;
      return characters === null && !ASCII.test(character) ? unsure() : dropped.has(character);
    };
    let [from, to] = [0, points.length];
    while (left && from < to && isDropped(from)) from++;
    while (right && to > from && isDropped(to - 1)) to--;
    return points.slice(from, to).join("");
  };
}

/** `a.startswith(b)` */
export function startswith(a: PythonValue, b: PythonValue): PythonValue {
  return textOf(a).startsWith(textOf(b));
}

/** `a.endswith(b)` */
export function endswith(a: PythonValue, b: PythonValue): PythonValue {
  return textOf(a).endsWith(textOf(b));
}

/** `a.replace(old, by)` */
export function replace(a: PythonValue, old: PythonValue, by: PythonValue): PythonValue {
  const [text, from, to] = [textOf(a), textOf(old), textOf(by)];
  return from === "" ? unsure() : text.replaceAll(from, () => to);
}

/** `a in b` of texts */
export function contains(a: PythonValue, b: PythonValue): PythonValue {
  return textOf(b).includes(textOf(a));
}

/** `a[index]` */
export function item(a: PythonValue, index: PythonValue): PythonValue {
  const points = codePoints(textOf(a));
  const at = intOf(index);
  const size = BigInt(points.length);
  return points[Number(at < 0n ? at + size : at < size ? at : -1n)] ?? unsure();
}

/** `a[from:to]`; None means an omitted bound. */
export function slice(a: PythonValue, from: PythonValue, to: PythonValue): PythonValue {
  return sliceText(textOf(a), from === null ? 0 : boundOf(from), to === null ? undefined : boundOf(to));
}

function boundOf(value: PythonValue): number {
  return Number(intOf(value));
}

/** `str(a)`, `f"{a}"` */
export function str(a: PythonValue): string {
  switch (typeof a) {
    case "string":
      return a;
    case "bigint":
      return String(a);
    case "number":
      return floatText(a);
    case "boolean":
      return a ? "True" : "False";
    default:
      return a === null ? "None" : unsure();
  }
}

/**
 * Python's `repr` of a float: the shortest digits that give the same float, with an exponent from
 * 1e16 on and below 1e-4.
 */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [mantissa, power] = Math.abs(value).toExponential().split("e") as [string, string];
  const sign = value < 0 ? "-" : "";
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const before = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${before}.${digits.slice(exponent + 1) || "0"}`;
}

/** `int(a)` of a text in plain digits. */
export function intOfText(text: string): PythonValue {
  return INT.test(text) ? BigInt(text.replace("+", "")) : unsure();
}

/** `float(a)` of a text in plain digits. */
export function floatOfText(text: string): PythonValue {
  return FLOAT.test(text) ? Number(text) : unsure();
}
