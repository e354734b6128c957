/** Replacements of what a pattern matches, in the notation of Python's `re.sub`. */

import { EvaluationError } from "./evaluation-error.ts";
import type { LinearPattern } from "./regexp.ts";

const CONTROLS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", f: "\f", v: "\v", a: "\x07", "\\": "\\" };

/** A replacement: texts, and numbers of groups between them. */
export type Replacement = readonly (string | number)[];

/**
 * The replacement of a text in which `\1` or `\g<1>` stands for a group. Throws EvaluationError
 * when it is wrong, or names a group that the pattern does not have.
 */
export function parseReplacement(source: string, { groups }: LinearPattern): Replacement {
  return source.split(/(\\(?:g<\d{1,3}>|[\s\S]|$))/).map((part) => {
    if (!part.startsWith("\\")) return part;
    const group = /^\\(?:g<(\d+)>|([1-9]))$/.exec(part);
    if (group) {
      const number = Number(group[1] ?? group[2]);
      if (number > groups) throw new EvaluationError(`the replacement names group ${number}, and the pattern has ${groups}`);
      return number;
    }
    const control = CONTROLS[part.slice(1)];
    if (control === undefined) throw new EvaluationError(`the replacement has '${part}': write \\1 or \\g<1> for a group, and \\\\ for \\`);
    return control;
  });
}

/** The text with every match replaced. Throws EvaluationError beyond `longest` UTF-16 units. */
export function replaced(text: string, pattern: LinearPattern, replacement: Replacement, longest: number): string {
  const signs = [...text];
  const parts: string[] = [];
  let [behind, length] = [0, 0];
  const put = (part: string): void => {
    length += part.length;
    if (length > longest) throw new EvaluationError("regexp_replace makes too long a text");
    parts.push(part);
  };
  for (const { from, to, texts } of pattern.matches(text)) {
    put(signs.slice(behind, from).join(""));
    for (const part of replacement) put(typeof part === "string" ? part : (texts[part] ?? ""));
    behind = to;
  }
  put(signs.slice(behind).join(""));
  return parts.join("");
}
