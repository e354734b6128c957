/** Text. Positions and lengths count code points. */

import type { FeatureValue } from "../../value.ts";
import { defineFamily, type Int } from "../definition.ts";
import { EvaluationError } from "../evaluation-error.ts";
import { checkedInt, wholeNumber } from "../integer.ts";
import { secondsOf } from "../length.ts";
import { compileLinear } from "../regexp.ts";
import { codePoints, isLike, sliceText, textLength, trimEnd, trimStart } from "../text.ts";

/** Longest text that a function makes, in UTF-16 units. */
const LONGEST = 10_000_000;

/** Functions of text. */
export const STRINGS = defineFamily("strings", {
  lower: {
    doc: "The text in lower case.",
    example: "F.lower(_.email)",
    parameters: ["text"],
    overloads: [["str -> str", (text: string) => text.toLowerCase()]],
  },
  upper: {
    doc: "The text in upper case.",
    example: "F.upper(_.code)",
    parameters: ["text"],
    overloads: [["str -> str", (text: string) => text.toUpperCase()]],
  },
  trim: {
    doc: "The text without white space at both ends.",
    example: "F.trim(_.name)",
    parameters: ["text"],
    overloads: [["str -> str", (text: string) => trimEnd(trimStart(text))]],
  },
  ltrim: {
    doc: "The text without white space at its beginning.",
    example: "F.ltrim(_.name)",
    parameters: ["text"],
    overloads: [["str -> str", trimStart]],
  },
  rtrim: {
    doc: "The text without white space at its end.",
    example: "F.rtrim(_.name)",
    parameters: ["text"],
    overloads: [["str -> str", trimEnd]],
  },
  concat: {
    doc: "The texts one behind the other.",
    example: 'F.concat(_.first, " ", _.last)',
    parameters: ["*texts"],
    overloads: [["str, str... -> str", (...texts: string[]) => texts.join("")]],
  },
  substr: {
    doc: "The part of a text from a position on, 0 being the first; with a third argument at most so many characters. A negative position counts from the end.",
    example: "F.substr(_.phone, 0, 3)",
    parameters: ["text", "start", "length?"],
    overloads: [
      ["str, int -> str", (text: string, start: Int) => sliceText(text, Number(start), undefined)],
      [
        "str, int, int -> str",
        (text: string, start: Int, length: Int) => {
          if (length < 0) throw new EvaluationError(`substr of negative length ${length}`);
          const from = start < 0 ? Math.max(0, textLength(text) + Number(start)) : Number(start);
          return sliceText(text, from, from + Number(length));
        },
      ],
    ],
  },
  replace: {
    doc: "The text with every occurrence of the second replaced by the third.",
    example: 'F.replace(_.phone, "-", "")',
    parameters: ["text", "old", "new"],
    overloads: [
      [
        "str, str, str -> str",
        (text: string, old: string, by: string) => {
          const parts = old === "" ? ["", ...codePoints(text), ""] : text.split(old);
          if (parts.length * by.length > LONGEST) throw new EvaluationError("the text that replace would make is too long");
          return parts.join(by);
        },
      ],
    ],
  },
  starts_with: {
    doc: "Whether the text begins with the second.",
    example: 'F.starts_with(_.phone, "+49")',
    parameters: ["text", "prefix"],
    overloads: [["str, str -> bool", (text: string, part: string) => text.startsWith(part)]],
  },
  ends_with: {
    doc: "Whether the text ends with the second.",
    example: 'F.ends_with(_.email, ".org")',
    parameters: ["text", "suffix"],
    overloads: [["str, str -> bool", (text: string, part: string) => text.endsWith(part)]],
  },
  strpos: {
    doc: "The position of the second in the text, 0 being the first character; -1 when it is not in it.",
    example: 'F.strpos(_.email, "@")',
    parameters: ["text", "part"],
    overloads: [
      [
        "str, str -> int",
        (text: string, part: string) => {
          const at = text.indexOf(part);
          return at < 0 ? -1 : textLength(text.slice(0, at));
        },
      ],
    ],
  },
  split: {
    doc: "The parts of a text between the separators.",
    example: 'F.split(_.tags, ",")',
    parameters: ["text", "separator"],
    checkConstants: ([, separator]) => refuseEmpty("split", separator),
    overloads: [
      [
        "str, str -> list[str]",
        (text: string, separator: string) => {
          refuseEmpty("split", separator);
          return text.split(separator);
        },
      ],
    ],
  },
  split_part: {
    doc: "One of the parts of a text between the separators, 0 being the first and -1 the last; null when there is none.",
    example: 'F.split_part(_.email, "@", 1)',
    parameters: ["text", "separator", "index"],
    checkConstants: ([, separator]) => refuseEmpty("split_part", separator),
    overloads: [
      [
        "str, str, int -> str?",
        (text: string, separator: string, index: Int) => {
          refuseEmpty("split_part", separator);
          return text.split(separator).at(Number(index)) ?? null;
        },
      ],
    ],
  },
  like: {
    doc: "Whether the whole text has the form of a pattern: `%` stands for any text, `_` for one character, `\\` takes their meaning away.",
    example: 'F.like(_.email, "%@%.org")',
    parameters: ["text", "pattern"],
    overloads: [["str, str -> bool", isLike]],
  },
  regexp_like: {
    doc: "Whether a regular expression is found in the text. Time grows with the text only: there are no back-references and no look-around.",
    example: 'F.regexp_like(_.phone, "^[+]?[0-9 ]{6,}$")',
    parameters: ["text", "pattern"],
    checkConstants: ([, pattern]) => {
      if (typeof pattern === "string") compileLinear(pattern);
    },
    overloads: [["str, str -> bool", (text: string, pattern: string) => compileLinear(pattern).isIn(text)]],
  },
  to_string: {
    doc: "The value as text: digits of a number as Python writes them, `true` or `false`, ISO 8601 of a date or an instant.",
    example: "F.to_string(_.id)",
    parameters: ["value"],
    overloads: [
      ["str -> str", (value: string) => value],
      ["int -> str", String],
      ["float -> str", floatText],
      ["bool -> str", String],
      ["date -> str", (value: string) => value],
      ["datetime -> str", (value: string) => value.replace(/\.?0*Z$/, "Z")],
      ["decimal -> str", (value: string) => value],
    ],
  },
  to_int: {
    doc: "The value as an int: a float loses what is behind the point, text must be digits, true is 1.",
    example: "F.to_int(_.code)",
    parameters: ["value"],
    overloads: [
      ["int -> int", (value: Int) => value],
      ["float -> int", (value: number) => wholeNumber(Math.trunc(value), "to_int")],
      ["bool -> int", Number],
      [
        "str -> int",
        (text: string) => {
          const digits = trimEnd(trimStart(text));
          if (!/^[+-]?\d{1,40}$/.test(digits)) throw new EvaluationError(`${JSON.stringify(text.slice(0, 60))} is no int`);
          return checkedInt(BigInt(digits.replace("+", "")), "to_int");
        },
      ],
    ],
  },
  to_float: {
    doc: "The value as a float; text must be a number, `nan` or `inf`.",
    example: "F.to_float(_.price)",
    parameters: ["value"],
    overloads: [
      ["float -> float", (value: number) => value],
      ["bool -> float", Number],
      ["decimal -> float", Number],
      ["timedelta -> float", secondsOf],
      [
        "str -> float",
        (text: string) => {
          const word = trimEnd(trimStart(text)).toLowerCase();
          if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(word)) return Number(word);
          if (/^[+-]?nan$/.test(word)) return Number.NaN;
          if (/^[+-]?inf(inity)?$/.test(word)) return word.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
          throw new EvaluationError(`${JSON.stringify(text.slice(0, 60))} is no float`);
        },
      ],
    ],
  },
});

function refuseEmpty(name: string, separator: FeatureValue | undefined): void {
  if (separator === "") throw new EvaluationError(`${name} with an empty separator`);
}

/** The shortest text that reads back as the float, in Python's format. */
function floatText(value: number): string {
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
