/**
 * Stubs of Python modules (`.pyi`) by which type checkers understand feature classes: `User.email`
 * is a type in annotations and a reference everywhere else, and a feature that does not exist is an
 * error. They follow from the text of the modules; nothing is imported. What is no feature class
 * stays as it is written, so that checkers see functions and constants of the module too.
 */

import { readAnnotation } from "../project/lint/annotation.ts";
import type { ClassModel, FieldModel, ProjectModel } from "../project/lint/project-model.ts";
import type { Expression, PythonNode } from "../project/lint/python-expression.ts";
import type { PythonModule } from "../project/lint/python-module.ts";
import { generatedHead } from "./mark.ts";

/** A stub, by the path of its module with `.pyi` in place of `.py`. */
export interface Stub {
  readonly path: string;
  readonly text: string;
}

const IMPORTS = "from typing import Any as _Any, Iterator as _Iterator, TypeAlias as _TypeAlias\n";

/** The stubs of all modules that define feature classes, by path. */
export function generateStubs(model: ProjectModel): Stub[] {
  return [...Map.groupBy(model.classes, ({ module }) => module)]
    .map(([module, classes]) => ({ path: `${module.path}i`, text: new StubWriter(model, module, classes).text() }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A part of a text, and what stands there instead. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

class StubWriter {
  readonly #imports = new Map<string, string>();

  constructor(
    readonly model: ProjectModel,
    readonly module: PythonModule,
    readonly classes: readonly ClassModel[],
  ) {}

  text(): string {
    const { text, tree } = this.module;
    const edits: Edit[] = [];
    for (const one of this.classes) {
      const node = definitionAt(tree, one.definition.from);
      if (node) edits.push({ from: node.from, to: node.to, by: this.#classText(one, node) });
    }
    const at = importsPlace(tree, text);
    const imports = [IMPORTS, ...[...this.#imports].sort().map(([name, from]) => `${from} as ${name}\n`)].join("");
    edits.push({ from: at, to: at, by: at === 0 ? `${imports}\n` : `\n${imports}` });
    const body = edited(text, edits).replace(/^(?:\ufeff)?/, "");
    return `${generatedHead("stubgen", "#", `Features of ${this.module.path}.`)}\n${body.replace(/\s*$/, "\n")}`;
  }

  #classText(one: ClassModel, node: PythonNode): string {
    const { text } = this.module;
    const definition = node.name === "DecoratedStatement" ? (node.getChild("ClassDefinition") ?? node) : node;
    const indent = indentAt(text, node.from);
    const inner = `${indent}    `;
    const { name } = one.definition;
    const [row, names] = [`_svc_${name}_row`, `_svc_${name}_names`];
    const bases = definition.getChild("ArgList");
    const inherited = bases
      ? text
          .slice(bases.from + 1, bases.to - 1)
          .trim()
          .replace(/,$/, "")
      : "";
    const fields = [...one.fields.values()];
    const lines: string[] = [`class ${names}(type):`];
    for (const field of fields)
      for (const attribute of attributesOf(field)) {
        const target = this.#hasOne(one, field);
        lines.push(`${inner}@property`, `${inner}def ${attribute}(cls) -> ${target === undefined ? "_Any" : `type[${target}]`}: ...`);
      }
    if (!one.complete) lines.push(`${inner}def __getattr__(cls, name: str) -> _Any: ...`);
    if (lines.length === 1) lines.push(`${inner}...`);
    lines.push(`${indent}class ${row}:`, ...this.#rowMethods(one, fields, inner));
    lines.push(`${indent}class ${name}(${[row, ...(inherited === "" ? [] : [inherited]), `metaclass=${names}`].join(", ")}):`);
    const body = definition.getChild("Body");
    const kept = body ? keptStatements(body, text, new Set(one.fields.keys())) : [];
    const members = fields.flatMap((field) =>
      attributesOf(field).map((attribute) => {
        const target = this.#hasOne(one, field);
        return target === undefined ? `${inner}${attribute}: _Any` : `${inner}${attribute}: _TypeAlias = ${target}`;
      }),
    );
    const own = [...kept.map((statement) => `${inner}${statement}`), ...members];
    return [...lines, ...(own.length > 0 ? own : [`${inner}...`])].join("\n");
  }

  /**
   * The constructor that a class has unless it says another one, and the iteration over its values.
   */
  #rowMethods(one: ClassModel, fields: readonly FieldModel[], inner: string): string[] {
    const parameters = fields.flatMap((field) => attributesOf(field).map((attribute) => `${attribute}: ${this.#valueType(field)} = ...`));
    const taken = one.complete ? parameters : [...parameters, "**others: _Any"];
    const head = taken.length === 0 ? "self" : `self, ${parameters.length > 0 ? "*, " : ""}${taken.join(", ")}`;
    return [`${inner}def __init__(${head}) -> None: ...`, `${inner}def __iter__(self) -> _Iterator[tuple[str, _Any]]: ...`];
  }

  /** The class that a has-one relation leads to, by a name that the stub knows. */
  #hasOne(one: ClassModel, field: FieldModel): string | undefined {
    const { core } = readAnnotation(this.model, this.module, field.source.annotation);
    if (core.kind !== "class" || core.model === one || core.model.definition.conditional) return undefined;
    const { definition, module } = core.model;
    if (module === this.module) return definition.name;
    const name = `_svc_${module.module.replaceAll(".", "_")}_${definition.name}`;
    this.#imports.set(name, `from ${module.module} import ${definition.name}`);
    return name;
  }

  /** The type of the values that a constructor takes, where it is a plain one of Python. */
  #valueType({ open, options, source: { annotation, value }, windows }: FieldModel): string {
    if (open || windows) return "_Any";
    const type = this.#plainType(annotation);
    const mayBeNone = options.some(({ name }) => name === "default") || (value !== undefined && value.kind === "call");
    return type === undefined ? "_Any" : mayBeNone && !type.endsWith("| None") ? `${type} | None` : type;
  }

  #plainType(expression: Expression): string | undefined {
    switch (expression.kind) {
      case "string":
        return expression.quoted ? this.#plainType(expression.quoted) : undefined;
      case "union": {
        const [side, other] = expression.right.kind === "none" ? [expression.left, expression.right] : [expression.right, expression.left];
        const type = other.kind === "none" ? this.#plainType(side) : undefined;
        return type === undefined ? undefined : `${type} | None`;
      }
      case "name": {
        const imported = this.module.imports.get(expression.name);
        if (imported) return isStandard(imported) ? expression.name : undefined;
        return PLAIN_TYPES.has(expression.name) && !this.module.names.has(expression.name) ? expression.name : undefined;
      }
      default:
        return undefined;
    }
  }
}

const PLAIN_TYPES = new Set(["int", "float", "str", "bool", "bytes"]);

function isStandard({ module, name }: { readonly module: string; readonly name: string | undefined }): boolean {
  return (module === "datetime" && ["date", "datetime", "timedelta"].includes(name ?? "")) || (module === "decimal" && name === "Decimal");
}

/** A field's attributes: its own, and one for each window that is known. */
function attributesOf({ attribute, windows }: FieldModel): string[] {
  return [attribute, ...(windows ?? []).map((seconds) => `${attribute}__${seconds}__`)];
}

/** The statement with the definition whose name is at an offset, with its decorators. */
function definitionAt(tree: PythonNode, at: number): PythonNode | undefined {
  for (let node: PythonNode | null = tree.resolve(at, 1); node; node = node.parent) {
    if (node.name !== "ClassDefinition") continue;
    return node.parent?.name === "DecoratedStatement" ? node.parent : node;
  }
  return undefined;
}

/** Where imports can be added: behind the docstring and what is imported from `__future__`. */
function importsPlace(tree: PythonNode, text: string): number {
  let place = 0;
  for (let node = tree.firstChild; node; node = node.nextSibling) {
    const own = text.slice(node.from, node.to);
    if (node.name === "Comment") continue;
    const isDocstring = node.name === "ExpressionStatement" && /^[rRuU]?["']/.test(own);
    if (!isDocstring && !(node.name === "ImportStatement" && own.startsWith("from __future__"))) break;
    place = node.to;
  }
  return place === 0 ? 0 : lineEnd(text, place);
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}

function indentAt(text: string, at: number): string {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, at))?.[0] ?? "";
}

/** The statements of a class's body that define no feature, as they are written. */
function keptStatements(body: PythonNode, text: string, fields: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let node = body.firstChild; node; node = node.nextSibling) {
    if ([":", "Comment", "PassStatement"].includes(node.name)) continue;
    const target = node.name === "AssignStatement" ? node.firstChild : undefined;
    if (target?.name === "VariableName" && fields.has(text.slice(target.from, target.to))) continue;
    kept.push(text.slice(node.from, node.to).trimEnd());
  }
  return kept;
}

function edited(text: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { by, from, to } of [...edits].sort((a, b) => a.from - b.from || a.to - b.to)) {
    if (from < at) continue;
    parts.push(text.slice(at, from), by);
    at = to;
  }
  return parts.join("") + text.slice(at);
}
