/**
 * The Python module of rules, `svc._diagnostics.rules`, generated from the table: numbers and
 * sentences of the rules that the analyzer finds.
 */

import { type Message, PLACEHOLDER, type Rule } from "./rule.ts";
import { RULES } from "./rules.ts";
import { CHAIN_CURE, OPERATOR_CURES } from "./sentences.ts";

/** Path of the module in the source tree. */
export const RULES_MODULE_PATH = "src/sdk/svc/_diagnostics/rules.py";

const HEAD = `"""Rules of lint: their numbers, and the sentences that the analyzer's findings say.

    report(rules.NoPrimaryKey.none(name="User", fields="name").at(span))

Generated from \`src/domain/rules\` by \`bun src/domain/rules/generate-python.ts\`; changes belong there.
"""

from __future__ import annotations

from .findings import WARNING, Message
`;
const LONGEST_LINE = 140;
/** A name whose braces were doubled. */
const DOUBLED = new RegExp(`\\{${PLACEHOLDER.source}\\}`, "g");

/** The text of the module: the rules that the analyzer finds. */
export function rulesModule(): string {
  return [HEAD, cures(), ...RULES.filter(({ foundBy }) => foundBy.includes("analyzer")).map(ruleClass)].join("\n\n");
}

/** The name of a rule's class in Python: `no-primary-key` is `NoPrimaryKey`. */
export function className(id: string): string {
  return id.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The name of a message in Python: `wholeClass` is `whole_class`. */
export function attributeName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function cures(): string {
  const entries = Object.entries(OPERATOR_CURES).map(([word, cure]) => `    "${word}": "${cure}",`);
  return [
    "#: What to write instead of an operator that Python decides at once.",
    "OPERATOR_CURES = {",
    ...entries,
    "}",
    `CHAIN_CURE = "${CHAIN_CURE}"`,
    "",
  ].join("\n");
}

function ruleClass(rule: Rule): string {
  const messages = Object.entries(rule.messages).map(([name, message]) => attribute(name, rule, message));
  return [`class ${className(rule.id)}:`, `    """${rule.title}."""`, "", `    code = ${rule.code}`, ...messages, ""].join("\n");
}

function attribute(name: string, rule: Rule, message: Message): string {
  const isWarning = (message.severity ?? rule.severity) === "warning";
  const parts = [
    "code",
    literal(message.text),
    ...(message.label === "" && !isWarning ? [] : [literal(message.label)]),
    ...(isWarning ? ["WARNING"] : []),
  ];
  const line = `    ${attributeName(name)} = Message(${parts.join(", ")})`;
  if (line.length <= LONGEST_LINE) return line;
  return [`    ${attributeName(name)} = Message(`, ...parts.map((part) => `        ${part},`), "    )"].join("\n");
}

/** A template as `str.format` reads it: braces that hold no name are doubled. */
function literal(template: string): string {
  const escaped = template.replaceAll(/[{}]/g, "$&$&").replaceAll(DOUBLED, "{$1}").replaceAll("\\", "\\\\");
  return escaped.includes('"') && !escaped.includes("'") ? `'${escaped}'` : `"${escaped.replaceAll('"', '\\"')}"`;
}
