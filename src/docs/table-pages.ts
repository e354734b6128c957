/** Pages that are made of the program's own tables: functions of expressions, and rules of lint. */

import { FUNCTIONS } from "../domain/expressions/functions.ts";
import type { ExampleFiles, Rule } from "../domain/rules/rule.ts";
import { RULES } from "../domain/rules/rules.ts";
import { block, code, literal, type Page } from "./page.ts";

/** The page of all functions, by family. */
export function functionsPage(): Page {
  const families = Map.groupBy(FUNCTIONS.values(), ({ family }) => family);
  const summary = "Functions that expressions of features may use, as F of svc.functions.";
  const parts = [...families].flatMap(([family, functions]) => [
    `## ${family[0]?.toUpperCase()}${family.slice(1)}`,
    ...functions.map(({ doc, example, name, nulls, parameters }) =>
      [
        `### ${name}`,
        literal(doc),
        block("py", example),
        ...(parameters.length === 0 ? [] : [`Parameters: ${parameters.map(code).join(", ")}.`]),
        ...(nulls ? [`Null: ${literal(nulls.doc)}`] : []),
      ].join("\n\n"),
    ),
  ]);
  return {
    path: "functions",
    section: "Expressions",
    title: "Functions",
    summary,
    markdown: ["# Functions", summary, ...parts].join("\n\n"),
  };
}

/** The page of all rules, by number. */
export function rulesPage(): Page {
  const summary = "What the findings of svc lint mean, with an example before and after.";
  const parts = RULES.map((rule) => [`## ${rule.code} ${rule.id}`, ...ruleText(rule)].join("\n\n"));
  return { path: "lint-rules", section: "Lint", title: "Lint rules", summary, markdown: ["# Lint rules", summary, ...parts].join("\n\n") };
}

function ruleText({ example, means, severity, title, why }: Rule): string[] {
  const shown = (files: ExampleFiles, word: string) =>
    Object.entries(files).flatMap(([path, text]) => [`${word}, ${code(path)}:`, block(path.endsWith(".sql") ? "sql" : "py", text)]);
  return [
    `**${severity === "warning" ? "Warning" : "Error"}: ${literal(title)}.**`,
    literal(means),
    literal(why),
    ...("none" in example
      ? [literal(example.none)]
      : [...shown(example.broken, "Breaks the rule"), ...shown(example.mended, "Keeps the rule")]),
  ];
}
