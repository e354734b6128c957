/** The explanation of a lint rule: `svc lint --explain`. */

import type { ExampleFiles, Finder, Rule, RuleExample } from "../domain/rules/rule.ts";
import type { Style } from "./view.ts";
import { textWidth, wrap } from "./wrap.ts";

const FINDERS: Readonly<Record<Finder, string>> = {
  text: "in the text of the files, as they are written",
  analyzer: "when the project is imported",
  graph: "when all definitions are seen together",
  server: "by the server, which asks the databases",
  machine: "on this machine",
};

/** The rule as JSON: its meaning, and an example or the reason why there is none. */
export function ruleJson({ code, example, foundBy, id, means, severity, title, why }: Rule) {
  const shown = "none" in example ? { no_example: example.none } : { example };
  return { code, id, severity, title, means, why, found_by: foundBy, ...shown };
}

/**
 * The rule as text of the terminal's width: its meaning, its reason, and an example before and
 * after.
 */
export function explainedRule(rule: Rule, style: Style): string {
  const width = textWidth(style);
  const isWarning = rule.severity === "warning";
  const number = `${isWarning ? "Warning" : "Error"}[${rule.code}]`;
  const [first = "", ...more] = wrap(`${number} ${rule.id}: ${rule.title}`, width);
  const colour = isWarning ? style.yellow : style.red;
  return [
    `${colour(number)}${style.bold(first.slice(number.length))}`,
    ...more.map((line) => style.bold(line)),
    ...[rule.means, rule.why, foundBySentence(rule)].flatMap((paragraph) => ["", ...wrap(paragraph, width)]),
    ...examples(rule, style, width),
  ].join("\n");
}

/** The place where the rule is checked, as a sentence. */
export function foundBySentence({ foundBy }: Rule): string {
  return `Found ${foundBy.map((finder) => FINDERS[finder]).join(", or ")}.`;
}

/** A note on omissions from an example. */
const OMISSIONS = "Imports of svc are left out.";

/** One file of an example. */
export interface ShownFile {
  /** "Breaks the rule" or "Keeps the rule". */
  readonly title: string;
  readonly path: string;
  readonly lines: readonly string[];
}

/**
 * The files of an example in reading order; a fixed file that equals the broken one is not shown
 * again.
 */
export function shownFiles({ broken, mended }: RuleExample): ShownFile[] {
  const shown = (title: string, files: ExampleFiles, before: ExampleFiles): ShownFile[] =>
    Object.entries(files)
      .filter(([path, text]) => text !== "" && before[path] !== text)
      .map(([path, text]) => ({ title, path, lines: text.trimEnd().split("\n") }));
  return [...shown("Breaks the rule", broken, {}), ...shown("Keeps the rule", mended, broken)];
}

function examples({ example }: Rule, style: Style, width: number): string[] {
  if ("none" in example) return ["", ...wrap(`There is no example of a few files. ${example.none}`, width)];
  return shownFiles(example)
    .flatMap(({ lines, path, title }) => [
      "",
      `${style.bold(title)}: ${path}`,
      "",
      ...lines.map((line) => (line === "" ? "" : `    ${line}`)),
    ])
    .concat("", OMISSIONS);
}
