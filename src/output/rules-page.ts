/** The manual page of the lint rules: `man svc-lint-rules`. */

import type { Rule } from "../domain/rules/rule.ts";
import { RULES } from "../domain/rules/rules.ts";
import { escaped, type ManualEdition, page, section, subsection, text } from "./roff.ts";
import { foundBySentence, type ShownFile, shownFiles } from "./rule-text.ts";

/** File name of the page. */
export const RULES_PAGE = "svc-lint-rules.1";

/** The page: every rule by number, with its meaning and an example before and after. */
export function rulesPage(edition: ManualEdition): string {
  return page("svc-lint-rules", "what the findings of svc lint mean", edition, [
    section("DESCRIPTION", [
      text("`svc lint` and `svc apply` show a number with every finding. `svc lint --explain NUMBER` prints what stands here about it."),
      text("Python files of the examples leave out their imports of svc."),
    ]),
    section("RULES", RULES.flatMap(ruleLines)),
    section("SEE ALSO", [".BR svc\\-lint (1)"]),
  ]);
}

function ruleLines(rule: Rule): string[] {
  const { example } = rule;
  const word = rule.severity === "warning" ? "Warning" : "Error";
  return [
    subsection(`${word} ${rule.code}, ${rule.id}: ${rule.title}`),
    ...[rule.means, rule.why, foundBySentence(rule)].flatMap((paragraph) => [".PP", text(paragraph)]),
    ...("none" in example ? [".PP", text(example.none)] : shownFiles(example).flatMap(fileLines)),
  ];
}

function fileLines({ lines, path, title }: ShownFile): string[] {
  return [".PP", `${escaped(title)}, ${escaped(path)}:`, ".nf", ...lines.map((line) => text(`  ${line}`.trimEnd())), ".fi"];
}
