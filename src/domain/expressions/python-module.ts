/** The Python module `svc.functions`, written from the function table. */

import type { FunctionDefinition } from "./definition.ts";
import { FUNCTIONS } from "./functions.ts";

/** Where the module lies in the source tree. */
export const PYTHON_MODULE_PATH = "src/sdk/svc/functions.py";

const KEYWORDS = new Set(["and", "or", "not", "is", "in", "if", "else"]);
const TITLES: Readonly<Record<string, string>> = { nulls: "null", lists: "lists, and what they share with text" };

/** The name of a function in Python; a keyword gets an underscore behind it. */
export function pythonName(name: string): string {
  return KEYWORDS.has(name) ? `${name}_` : name;
}

/** The text of the module. */
export function pythonModule(): string {
  const functions = [...FUNCTIONS.values()];
  const names = functions.map(({ name }) => pythonName(name)).sort();
  const families = [...new Set(functions.map(({ family }) => family))];
  const sections = families.map((family) => {
    const members = functions.filter((definition) => definition.family === family);
    return [`# ${TITLES[family] ?? family}`, ...members.map(stub)].join("\n\n\n");
  });
  return `${HEAD}
__all__ = [
${names.map((name) => `    "${name}",`).join("\n")}
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

from ._expression import call
`;

function stub(definition: FunctionDefinition): string {
  const { name, parameters, doc, example, overloads, nulls } = definition;
  const optional = (parameter: string): string => (parameter.startsWith("*") ? `*${parameter.slice(1)}: Any` : `${parameter}: Any`);
  const passed = parameters.map((parameter) => parameter);
  const signatures = overloads.length > 12 ? [...overloads.slice(0, 4), overloads.at(-1)] : overloads;
  const lines = [
    `def ${pythonName(name)}(${parameters.map(optional).join(", ")}) -> Any:`,
    `    """${escaped(doc)}`,
    "",
    `        ${escaped(example)}`,
    "",
    ...(nulls ? [`    Null: ${escaped(nulls.doc)}.`, ""] : []),
    `    Types: ${signatures.map((overload) => overload?.signature.text).join("; ")}.`,
    '    """',
    `    return call(${[`"${name}"`, ...passed].join(", ")})`,
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
