/** Python as its formatter writes it: literals, statements that fit their line, imports. */

import type { Value } from "../../gen/svc/v1/value_pb.ts";

/** Columns that black fills. */
const WIDTH = 88;

/** Whether a line is no longer than the formatter makes it. */
export function fits(line: string): boolean {
  return line.length <= WIDTH;
}

/** Words that no name can be, and names that annotations would hide. */
export const PYTHON_KEYWORDS =
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  );

/** Builtins that generated annotations use, which no class or member may hide. */
export const PYTHON_BUILTINS = "bool bytes dict float int list set str tuple object type property staticmethod classmethod super".split(
  " ",
);

/** A string literal, in the quotes of which it has fewer, double ones if it has as many. */
export function pythonString(text: string): string {
  const quote = text.split('"').length > text.split("'").length ? "'" : '"';
  const escaped = text.replace(/[\\"']|[^\x20-\x7e\u00a1-\ud7ff\uf900-\ufdcf]/gu, (c) => {
    if (c === '"' || c === "'") return c === quote ? `\\${c}` : c;
    if (c === "\\") return "\\\\";
    if (c === "\n") return "\\n";
    const code = c.codePointAt(0) as number;
    return code < 256
      ? `\\x${code.toString(16).padStart(2, "0")}`
      : code < 65536
        ? `\\u${code.toString(16).padStart(4, "0")}`
        : `\\U${code.toString(16).padStart(8, "0")}`;
  });
  return `${quote}${escaped}${quote}`;
}

/** A literal of a value; undefined for those that have none here. */
export function pythonLiteral(value: Value | undefined): string | undefined {
  const { kind } = value ?? {};
  switch (kind?.case) {
    case "int64Value":
      return `${kind.value}`;
    case "doubleValue":
      return floatLiteral(kind.value);
    case "stringValue":
      return pythonString(kind.value);
    case "boolValue":
      return kind.value ? "True" : "False";
    case "bytesValue":
      return `b"${[...kind.value].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}"`;
    case "decimalValue":
      return `Decimal(${pythonString(kind.value)})`;
    case "dateValue":
      return `date(${kind.value.year}, ${kind.value.month}, ${kind.value.day})`;
    default:
      return undefined;
  }
}

function floatLiteral(value: number): string {
  if (Number.isNaN(value)) return 'float("nan")';
  if (!Number.isFinite(value)) return value > 0 ? 'float("inf")' : 'float("-inf")';
  const text = Object.is(value, -0) ? "-0.0" : `${value}`;
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/**
 * `head(item, item)tail`, on lines of their own where it does not fit one, with what comes `after`
 * it: all items on one, else one for each.
 */
export function pythonCall(head: string, items: readonly string[], tail: string, indent: string, after = ""): string {
  const line = `${indent}${head}${items.join(", ")}${tail}`;
  const isFlat = items.every((item) => !item.includes("\n"));
  if ((isFlat && fits(`${line.slice(line.lastIndexOf("\n") + 1)}${after}`)) || items.length === 0) return line;
  const inner = `${indent}    ${items.join(", ")}`;
  if (isFlat && fits(inner)) return `${indent}${head}\n${inner}\n${indent}${tail.trimStart()}`;
  return [`${indent}${head}`, ...items.map((item) => `${indent}    ${item},`), `${indent}${tail.trimStart()}`].join("\n");
}

/** `from module import a, b`; one name a line where they do not fit one. */
export function pythonImport(module: string, names: readonly string[]): string {
  const sorted = [...names].sort(byCaseThenName);
  const line = `from ${module} import ${sorted.join(", ")}`;
  return fits(line) ? line : [`from ${module} import (`, ...sorted.map((name) => `    ${name},`), ")"].join("\n");
}

/** Constants, then classes, then the rest, as import sorters have it. */
function byCaseThenName(a: string, b: string): number {
  const rank = (name: string) => (/^[A-Z][A-Z0-9_]+$/.test(name) ? 0 : /^[A-Z]/.test(name) ? 1 : 2);
  return rank(a) - rank(b) || (a < b ? -1 : 1);
}

/** A docstring; backslashes and quotes in it stay what they are. */
export function docstring(lines: readonly string[], indent: string): string {
  const safe = lines.map((line) => line.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"'));
  const [first = "", ...rest] = safe;
  if (rest.length === 0) return `${indent}"""${first}${first.endsWith('"') ? " " : ""}"""`;
  return [`${indent}"""${first}`, ...rest.map((line) => `${indent}${line}`.trimEnd()), `${indent}"""`].join("\n");
}
