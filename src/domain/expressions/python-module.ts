/** The Python module `svc.functions`, written from the function table. */

import type { FunctionDefinition } from "./definition.ts";
import { CALLS, FORMS, type FunctionForm } from "./forms.ts";
import { FUNCTIONS } from "./functions.ts";

/** Path of the module in the source tree. */
export const PYTHON_MODULE_PATH = "src/sdk/svc/functions.py";

const KEYWORDS = new Set(["and", "or", "not", "is", "in", "if", "else"]);
const TITLES: Readonly<Record<string, string>> = { nulls: "null", lists: "lists, and what they share with text" };

/** The name of a function in Python; a keyword gets an underscore behind it. */
export function pythonName(name: string): string {
  return KEYWORDS.has(name) ? `${name}_` : name;
}

/** The names of `svc.functions`, sorted. */
export const PYTHON_NAMES: readonly string[] = [...[...FUNCTIONS.keys()].map(pythonName), ...FORMS.keys()].sort();

/** The text of the module. */
export function pythonModule(): string {
  const functions = [...FUNCTIONS.values()];
  const families = [...new Set(functions.map(({ family }) => family))];
  const sections = families.map((family) => {
    const members = functions.filter((definition) => definition.family === family);
    const forms = [...FORMS.values()].filter((form) => form.family === family);
    return [`# ${TITLES[family] ?? family}`, ...members.map(stub), ...forms.map(formStub)].join("\n\n\n");
  });
  return `${HEAD}
__all__ = [
${PYTHON_NAMES.map((name) => `    "${name}",`).join("\n")}
]


${sections.join("\n\n\n")}
`;
}

const HEAD = `"""Functions of expressions: what the server computes by columns, without Python.

    import svc.functions as F

    similarity: float = F.jaccard_similarity(F.lower(_.name), F.lower(_.email))

Unless a function says otherwise: a null argument gives null, int is widened to float or decimal where one is wanted, and an error in an argument is
the error of the result. Division by zero, and what lies outside of a function's domain, is an error of the row; NaN and infinities are values.

Generated from the function table by \`bun src/domain/expressions/generate-python.ts\`; changes belong there.
"""

from __future__ import annotations

from typing import Any

from ._model.operand import LEFT_OUT, as_operand, call, cast_call, given, when_call
from ._model.template import JinjaTemplate
`;

/** A parameter as Python declares it. */
function declared(parameter: string): string {
  return parameter.endsWith("?") ? `${parameter.slice(0, -1)}: Any = LEFT_OUT` : `${parameter}: Any`;
}

/** A parameter as Python passes it on. */
function passed(parameter: string): string {
  return parameter.endsWith("?") ? `*given(${parameter.slice(0, -1)})` : parameter;
}

function formStub({ name, parameters, doc, example, types, result }: FunctionForm): string {
  return wrapped([
    `def ${name}(${parameters}) -> Any:`,
    `    """${escaped(doc)}`,
    "",
    `        ${escaped(example)}`,
    "",
    `    Types: ${types}.`,
    '    """',
    `    return ${result}`,
  ]).join("\n");
}

function stub(definition: FunctionDefinition): string {
  const { name, parameters, doc, example, overloads, nulls } = definition;
  const own = CALLS.get(name);
  const texts = overloads.map(({ signature }) => signature.text);
  const signatures = texts.length > MOST_SIGNATURES ? [...texts.slice(0, 5), "and so on"] : texts;
  const lines = [
    `def ${pythonName(name)}(${own?.parameters ?? parameters.map(declared).join(", ")}) -> Any:`,
    `    """${escaped(doc)}`,
    "",
    `        ${escaped(example)}`,
    "",
    ...(nulls ? [`    Null: ${escaped(nulls.doc)}.`, ""] : []),
    `    Types: ${signatures.join("; ")}.`,
    '    """',
    `    return ${own?.result ?? `call(${[`"${name}"`, ...parameters.map(passed)].join(", ")})`}`,
  ];
  return wrapped(lines).join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"');
}

/** Lines of a docstring that are too long, broken at spaces. */
function wrapped(lines: readonly string[]): string[] {
  return lines.flatMap((line) => {
    if (line.length <= LONGEST || !line.startsWith("    ")) return [line];
    const indent = /^ */.exec(line)?.[0] ?? "";
    const broken: string[] = [];
    let at = indent;
    for (const word of line.trim().split(" ")) {
      if (at.length + 1 + word.length > LONGEST && at.trim() !== "") {
        broken.push(at);
        at = indent;
      }
      at += at.trim() === "" ? word : ` ${word}`;
    }
    return [...broken, at];
  });
}

const LONGEST = 140;

/** Signatures that a docstring lists. */
const MOST_SIGNATURES = 12;
