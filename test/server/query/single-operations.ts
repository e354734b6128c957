/** Functions of one operation each, of all that are translated. */

import type { RandomFunction } from "./random-functions.ts";
import { type Kind, PARAMETERS } from "./random-values.ts";

type Result = Extract<Kind, "int" | "float" | "str" | "bool">;

const ARITHMETIC = ["+", "-", "*", "/", "//", "%"];
const COMPARISON = ["<", "<=", ">", ">=", "==", "!="];
const PAIRS = ["i {} j", "x {} y", "i {} x", "x {} i", "b {} i", "x {} b"];

/** The operations with the kind of their results. */
export const OPERATIONS: readonly (readonly [kind: Result, text: string])[] = [
  ...PAIRS.flatMap((pair) => ARITHMETIC.map((operator) => ["float", pair.replace("{}", operator)] as const)),
  ...ARITHMETIC.filter((operator) => operator !== "/").map((operator) => ["int", `i ${operator} j`] as const),
  ...[...PAIRS, "s {} t", "d {} e", "i {} s", "(d - e) {} (e - d)"].flatMap((pair) =>
    COMPARISON.map((operator) => ["bool", pair.replace("{}", operator)] as const),
  ),
  ...[
    "i ** 2",
    "i ** 3",
    "j ** (i % 40)",
    "2 ** (i % 70)",
    "-i",
    "+b",
    "abs(i)",
    "int(b)",
    "len(s)",
    "int(s)",
    "int(x)",
    "round(x)",
    "round(i)",
  ].map((text) => ["int", text] as const),
  ...["math.floor(x)", "math.ceil(x)", "math.trunc(x)", "math.floor(i)", "i and j", "i or j", "min(i, j)", "max(i, j)"].map(
    (text) => ["int", text] as const,
  ),
  ...["d.year", "d.month", "d.day", "d.hour", "d.minute", "d.second", "d.microsecond", "d.weekday()", "d.isoweekday()"].map(
    (text) => ["int", text] as const,
  ),
  ...["(d - e).days", "(d - e).seconds", "(d - e).microseconds"].map((text) => ["int", text] as const),
  ...[
    "(d - e).total_seconds()",
    "-x",
    "abs(x)",
    "float(i)",
    "float(s)",
    "float(b)",
    "round(x, 0)",
    "round(x, 1)",
    "round(x, 2)",
    "round(x, 12)",
  ].map((text) => ["float", text] as const),
  ...["math.sqrt(x)", "math.fabs(x)", "math.degrees(x)", "math.radians(x)", "math.fmod(x, y)", "math.copysign(x, y)", "math.sqrt(i)"].map(
    (text) => ["float", text] as const,
  ),
  ...["min(x, y)", "max(x, y)", "min(x, 0)", "max(0, x)", "max(x, i, y)", "x or y", "x and y", "x if x > y else y"].map(
    (text) => ["float", text] as const,
  ),
  ...["s + t", "s.lower()", "s.upper()", "s.strip()", "s.lstrip()", "s.rstrip()", "s.strip(t)", "s.lstrip(t)", "s.rstrip(t)"].map(
    (text) => ["str", text] as const,
  ),
  ...['s.replace(t, "-")', 's.replace("a", t)', "s[i]", "s[j:]", "s[:j]", "s[-3:j]", "s[0]", "s[-1]", "s[1:3]", "s or t"].map(
    (text) => ["str", text] as const,
  ),
  ...["str(i)", "str(x)", "str(b)", "str(s)", 'f"{i} {x} {s} {b}"', 'f"{x!s}"', "str(x / 3)", "str(x * 1e-5)", "str(i - 1)"].map(
    (text) => ["str", text] as const,
  ),
  ...["s in t", "t not in s", "s.startswith(t)", "s.endswith(t)", "not i", "not x", "not s", "not d", "bool(x)", "bool(s)", "bool(i)"].map(
    (text) => ["bool", text] as const,
  ),
  ...[
    "i is None",
    "s is not None",
    "b is True",
    "i in (1, 2, 3)",
    's in {"a", "1"}',
    "x in (i, 1.5, None)",
    "x in (x, 1)",
    "s in KINDS",
    "i in (True, 1.5)",
  ].map((text) => ["bool", text] as const),
  ...["math.isnan(x)", "math.isinf(x)", "math.isfinite(x)", "i < x < j", "x == y == 0", "not (d - e)", "bool(d - e)"].map(
    (text) => ["bool", text] as const,
  ),
];

/** A function that returns the result of an operation. */
export function operation(name: string, kind: Result, text: string): RandomFunction {
  const parameters = Object.keys(PARAMETERS).filter((one) => new RegExp(`\\b${one}\\b`).test(text));
  const declared = parameters.map((one) => `${one}: Row.${one}`).join(", ");
  return {
    name,
    outputs: [[`${name}_0`, kind]],
    text: `@online\ndef ${name}(${declared}) -> Row.${name}_0:\n    return ${text}`,
  };
}
