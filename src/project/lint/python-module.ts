/** The definitions at the top level of a Python file, as its text shows them. */

import { parser } from "@lezer/python";
import { moduleOf } from "../../domain/source-file.ts";
import { type Arguments, type Expression, NO_ARGUMENTS, type PythonNode, readArguments, readExpression } from "./python-expression.ts";
import { checkPythonSyntax } from "./python-syntax.ts";

/** A name that an import binds. */
export interface Import {
  /** Absolute dotted module. */
  readonly module: string;
  /** The name in it; undefined when the module itself is bound. */
  readonly name: string | undefined;
}

/** A decorator. */
export interface Decorator {
  /**
   * `features` or `svc.features.features` as written, by segment; empty when it is no plain name.
   */
  readonly path: readonly string[];
  readonly call: Arguments;
}

/** A definition; its range is that of its name. */
interface Definition {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly decorators: readonly Decorator[];
  /** Whether it is under an `if`, a `try` or the like, so that it may not exist. */
  readonly conditional: boolean;
}

/** An annotated name of a class's body. */
export interface ClassField {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly annotation: Expression;
  readonly value: Expression | undefined;
}

/** A class. */
export interface PythonClass extends Definition {
  readonly kind: "class";
  readonly bases: Arguments;
  readonly fields: readonly ClassField[];
  /** Other names of the body: methods, plain assignments. */
  readonly others: readonly string[];
  /** Whether the body has statements whose effect on its names is not understood. */
  readonly open: boolean;
}

/** A parameter; its range is that of its name. */
export interface Parameter {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly star: "" | "*" | "**";
  readonly annotation: Expression | undefined;
}

/** A function. */
export interface PythonFunction extends Definition {
  readonly kind: "function";
  readonly parameters: readonly Parameter[];
  readonly returns: Expression | undefined;
}

/** A call that is a statement, or the value of an assignment, at the top level. */
export interface TopLevelCall {
  readonly call: Extract<Expression, { kind: "call" }>;
}

/** What is in a file, as far as its text tells. */
export interface ModuleContent {
  readonly imports: ReadonlyMap<string, Import>;
  readonly definitions: readonly (PythonClass | PythonFunction)[];
  readonly calls: readonly TopLevelCall[];
  /** Names bound at the top level in any way, imports included. */
  readonly names: ReadonlySet<string>;
  /** Modules that all names are taken from, with `import *`. */
  readonly stars: readonly string[];
  /**
   * Whether more names may exist than are written: a star import, `globals()`, `exec`, or text that
   * was not understood.
   */
  readonly open: boolean;
}

/** A file. */
export interface PythonModule extends ModuleContent {
  readonly path: string;
  readonly module: string;
  readonly text: string;
  /**
   * The tree of the file; its offsets are those of the text. It is parsed on first use, because it
   * takes far more memory than the rest and most uses need only that.
   */
  readonly tree: PythonNode;
}

const DYNAMIC = /\b(?:globals|exec|eval|setattr|__getattr__|vars|import_module|__import__|type)\s*\(|sys\.modules/;

/** A file with its content. Its text has no syntax errors. */
export function pythonModule(path: string, text: string, content: ModuleContent): PythonModule {
  let tree: PythonNode | undefined;
  return {
    ...content,
    path,
    module: moduleOf(path),
    text,
    get tree() {
      tree ??= parser.parse(checkPythonSyntax(text).parseable).topNode;
      return tree;
    },
  };
}

/**
 * The definitions of a file without syntax errors, and its tree. `text` and `parseable` have the
 * same offsets.
 */
export function readPythonModule(path: string, text: string, parseable: string): { module: PythonModule; tree: PythonNode } {
  const tree = parser.parse(parseable);
  let hasErrors = false;
  tree.iterate({
    enter(node) {
      hasErrors ||= node.type.isError;
    },
  });
  const reader = new ModuleReader(path, parseable);
  reader.statements(tree.topNode, false);
  const content = {
    imports: reader.imports,
    definitions: reader.definitions,
    calls: reader.calls,
    names: reader.names,
    stars: reader.stars,
    open: hasErrors || reader.stars.length > 0 || DYNAMIC.test(text.replace(/\btype\s*\(\s*self\s*\)/g, "")),
  };
  return { module: pythonModule(path, text, content), tree: tree.topNode };
}

class ModuleReader {
  readonly imports = new Map<string, Import>();
  readonly definitions: (PythonClass | PythonFunction)[] = [];
  readonly calls: TopLevelCall[] = [];
  readonly names = new Set<string>();
  readonly stars: string[] = [];

  constructor(
    readonly path: string,
    readonly text: string,
  ) {}

  statements(parent: PythonNode, conditional: boolean): void {
    for (let node = parent.firstChild; node; node = node.nextSibling) this.#statement(node, conditional);
  }

  #slice(node: PythonNode): string {
    return this.text.slice(node.from, node.to);
  }

  #statement(node: PythonNode, conditional: boolean): void {
    switch (node.name) {
      case "ImportStatement":
        this.#import(node);
        return;
      case "StatementGroup":
        this.statements(node, conditional);
        return;
      case "DecoratedStatement": {
        const decorators = node.getChildren("Decorator").map((decorator) => this.#decorator(decorator));
        const definition = node.getChild("ClassDefinition") ?? node.getChild("FunctionDefinition");
        if (definition) this.#define(definition, decorators, conditional);
        return;
      }
      case "ClassDefinition":
      case "FunctionDefinition":
        this.#define(node, [], conditional);
        return;
      case "AssignStatement":
      case "UpdateStatement":
        this.#assign(node);
        return;
      case "ExpressionStatement": {
        const value = node.firstChild && readExpression(node.firstChild, this.text);
        if (value?.kind === "call") this.calls.push({ call: value });
        return;
      }
      default:
        if (node.getChild("Body")) this.#block(node);
        else this.#bindAll(node);
    }
  }

  /** Reads a statement with blocks, whose definitions are conditional. */
  #block(node: PythonNode): void {
    for (let child = node.firstChild; child; child = child.nextSibling) {
      if (child.name === "Body") this.statements(child, true);
      else this.#bindAll(child);
    }
  }

  #bindAll(node: PythonNode): void {
    if (node.name === "VariableName") this.names.add(this.#slice(node));
    for (let child = node.firstChild; child; child = child.nextSibling) this.#bindAll(child);
  }

  #assign(node: PythonNode): void {
    for (let child = node.firstChild; child; child = child.nextSibling) {
      if (child.name === "VariableName" || child.name === "TupleExpression" || child.name === "ArrayExpression") this.#bindAll(child);
      if (child.name === "CallExpression") {
        const value = readExpression(child, this.text);
        if (value.kind === "call") this.calls.push({ call: value });
      }
    }
  }

  #import(node: PythonNode): void {
    const { bound, star } = readImports(node, this.path, this.text);
    if (star !== undefined) this.stars.push(star);
    for (const [name, item] of bound) {
      this.names.add(name);
      this.imports.set(name, item);
    }
  }

  #decorator(node: PythonNode): Decorator {
    const path: string[] = [];
    let plain = true;
    let list: PythonNode | undefined;
    for (let child = node.firstChild; child; child = child.nextSibling) {
      if (child.name === "VariableName" || child.name === "PropertyName") path.push(this.#slice(child));
      else if (child.name === "ArgList") list = child;
      else if (child.name !== "At" && child.name !== "." && child.name !== "Comment") plain = false;
    }
    return { path: plain ? path : [], call: list ? readArguments(list, this.text) : NO_ARGUMENTS };
  }

  #define(node: PythonNode, decorators: readonly Decorator[], conditional: boolean): void {
    const nameNode = node.getChild("VariableName");
    if (!nameNode) return;
    const name = this.#slice(nameNode);
    const definition = { name, from: nameNode.from, to: nameNode.to, decorators, conditional };
    this.names.add(name);
    if (node.name === "ClassDefinition") this.definitions.push({ kind: "class", ...definition, ...this.#classBody(node) });
    else this.definitions.push({ kind: "function", ...definition, ...this.#signature(node) });
  }

  #classBody(node: PythonNode): Pick<PythonClass, "bases" | "fields" | "others" | "open"> {
    const list = node.getChild("ArgList");
    const fields: ClassField[] = [];
    const others: string[] = [];
    let open = false;
    const visit = (parent: PythonNode): void => {
      for (let child = parent.firstChild; child; child = child.nextSibling) {
        if (child.name === "StatementGroup") visit(child);
        else if (child.name === "AssignStatement") {
          const field = this.#field(child);
          if (field) fields.push(field);
          else if (child.firstChild?.name === "VariableName") others.push(this.#slice(child.firstChild));
          else open = true;
        } else if (child.name === "DecoratedStatement" || child.name === "FunctionDefinition" || child.name === "ClassDefinition") {
          const inner = child.name === "DecoratedStatement" ? child.lastChild : child;
          const nameNode = inner?.getChild("VariableName");
          if (nameNode) others.push(this.#slice(nameNode));
        } else if (!["ExpressionStatement", "PassStatement", "Comment", ":"].includes(child.name)) open = true;
      }
    };
    const body = node.getChild("Body");
    if (body) visit(body);
    return { bases: list ? readArguments(list, this.text) : NO_ARGUMENTS, fields, others, open: open || !body };
  }

  #field(node: PythonNode): ClassField | undefined {
    const [target, type] = [node.firstChild, node.getChild("TypeDef")];
    const annotation = type?.lastChild;
    if (target?.name !== "VariableName" || !annotation || annotation.name === ":") return undefined;
    const assigned = node.getChild("AssignOp")?.nextSibling;
    return {
      name: this.#slice(target),
      from: target.from,
      to: target.to,
      annotation: readExpression(annotation, this.text),
      value: assigned ? readExpression(assigned, this.text) : undefined,
    };
  }

  #signature(node: PythonNode): Pick<PythonFunction, "parameters" | "returns"> {
    const parameters: Parameter[] = [];
    let star: Parameter["star"] = "";
    let takesName = true;
    for (let child = node.getChild("ParamList")?.firstChild; child; child = child.nextSibling) {
      if (child.name === "*" || child.name === "**") star = child.name;
      else if (child.name === ",") {
        star = "";
        takesName = true;
      } else if (child.name === "VariableName" && takesName) {
        const type = child.nextSibling?.name === "TypeDef" ? child.nextSibling.lastChild : undefined;
        const annotation = type ? readExpression(type, this.text) : undefined;
        parameters.push({ name: this.#slice(child), from: child.from, to: child.to, star, annotation });
        takesName = false;
      }
    }
    const returns = node.getChild("TypeDef")?.lastChild;
    return { parameters, returns: returns ? readExpression(returns, this.text) : undefined };
  }
}

/** The names that an import statement binds. */
export interface BoundImports {
  /** By name, in order. */
  readonly bound: [string, Import][];
  /** The module that all names are taken from, with `import *`. */
  readonly star?: string;
}

/** The names that an import statement binds; relative imports start from the path of the file. */
export function readImports(node: PythonNode, path: string, text: string): BoundImports {
  const words: string[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling)
    if (child.name !== "Comment")
      words.push(child.name === "VariableName" || child.name === "." ? text.slice(child.from, child.to) : child.name);
  if (words[0] === "from") return readFromImport(words, path.split("/").slice(0, -1));
  return { bound: splitAt(words.slice(1), ",").flatMap(readModuleImport) };
}

function readFromImport(words: readonly string[], folders: readonly string[]): BoundImports {
  const at = words.indexOf("import");
  const source = words.slice(1, at);
  const level = source.findIndex((word) => word !== "." && word !== "...");
  const dots = (level < 0 ? source : source.slice(0, level)).join("").length;
  const tail = level < 0 ? [] : source.slice(level).filter((word) => word !== ".");
  const base = dots === 0 ? [] : folders.slice(0, folders.length - (dots - 1));
  const module = [...base, ...tail].join(".");
  const items = splitAt(
    words.slice(at + 1).filter((word) => word !== "(" && word !== ")"),
    ",",
  );
  const bound = items.flatMap(([name, , alias]): [string, Import][] =>
    name === undefined || name === "*" ? [] : [[alias ?? name, { module, name }]],
  );
  return items.some(([name]) => name === "*") ? { bound, star: module } : { bound };
}

function readModuleImport(item: readonly string[]): [string, Import][] {
  const as = item.indexOf("as");
  const path = (as < 0 ? item : item.slice(0, as)).filter((word) => word !== ".");
  const alias = as < 0 ? undefined : item[as + 1];
  if (alias) return [[alias, { module: path.join("."), name: undefined }]];
  return path[0] ? [[path[0], { module: path[0], name: undefined }]] : [];
}

function splitAt(words: readonly string[], separator: string): string[][] {
  const parts: string[][] = [[]];
  for (const word of words) {
    if (word === separator) parts.push([]);
    else parts.at(-1)?.push(word);
  }
  return parts.filter((part) => part.length > 0);
}
