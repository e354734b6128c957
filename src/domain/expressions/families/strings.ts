/** Text. Positions and lengths count code points. */

import type { FeatureValue } from "../../value.ts";
import { defineFamily, type Int } from "../definition.ts";
import { EvaluationError } from "../evaluation-error.ts";
import { floatText } from "../float.ts";
import { checkedInt, wholeNumber } from "../integer.ts";
import { secondsOf } from "../length.ts";
import { compileLinear, type LinearPattern } from "../regexp.ts";
import { parseReplacement, replaced } from "../replacement.ts";
import { codePoints, isLike, sliceText, textLength, trimEnd, trimStart } from "../text.ts";

/** Longest text that a function makes, in UTF-16 units. */
const LONGEST = 10_000_000;

/** The compiled pattern, which can be searched for. Throws EvaluationError. */
function compileSearch(pattern: string): LinearPattern {
  const compiled = compileLinear(pattern);
  compiled.matches("");
  return compiled;
}

function checkGroup([, pattern, group]: readonly (FeatureValue | undefined)[]): void {
  if (typeof pattern === "string") groupOf(compileSearch(pattern), (group ?? 0) as Int);
}

/** The number of a group that the pattern has. Throws EvaluationError. */
function groupOf({ groups }: LinearPattern, group: Int): number {
  if (group < 0 || group > groups) throw new EvaluationError(`there is no group ${group}: the pattern has ${groups}`);
  return Number(group);
}

function extract(text: string, pattern: string, group: Int = 0): string | null {
  const compiled = compileLinear(pattern);
  const number = groupOf(compiled, group);
  for (const { texts } of compiled.matches(text)) return texts[number] ?? null;
  return null;
}

function extractAll(text: string, pattern: string, group: Int = 0): string[] {
  const compiled = compileLinear(pattern);
  const number = groupOf(compiled, group);
  return Array.from(compiled.matches(text), ({ texts }) => texts[number] ?? "");
}

function replaceAll(text: string, pattern: string, replacement: string): string {
  const compiled = compileLinear(pattern);
  return replaced(text, compiled, parseReplacement(replacement, compiled), LONGEST);
}

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
  regexp_extract: {
    doc: "The first match of a regular expression in the text, or what a group of it took; null where there is none. What may be empty cannot be repeated in it.",
    example: 'F.regexp_extract(_.email, "@([^@]+)$", 1)',
    parameters: ["text", "pattern", "group?"],
    checkConstants: checkGroup,
    overloads: [
      ["str, str -> str?", extract],
      ["str, str, int -> str?", extract],
    ],
  },
  regexp_extract_all: {
    doc: "All matches of a regular expression in the text, from the left, or what a group of it took, an empty text where that took no part. What may be empty cannot be repeated in it.",
    example: 'F.regexp_extract_all(_.note, "#([a-z]+)", 1)',
    parameters: ["text", "pattern", "group?"],
    checkConstants: checkGroup,
    overloads: [
      ["str, str -> list[str]", extractAll],
      ["str, str, int -> list[str]", extractAll],
    ],
  },
  regexp_replace: {
    doc: "The text with every match of a regular expression replaced; `\\1` or `\\g<1>` in the replacement is what a group took. Without a replacement matches are taken out. What may be empty cannot be repeated in it.",
    example: 'F.regexp_replace(_.phone, "[^0-9]+")',
    parameters: ["text", "pattern", "replacement?"],
    checkConstants: ([, pattern, replacement]) => {
      if (typeof pattern !== "string") return;
      const compiled = compileSearch(pattern);
      if (typeof replacement === "string") parseReplacement(replacement, compiled);
    },
    overloads: [
      ["str, str -> str", (text: string, pattern: string) => replaced(text, compileLinear(pattern), [""], LONGEST)],
      ["str, str, str -> str", replaceAll],
    ],
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
