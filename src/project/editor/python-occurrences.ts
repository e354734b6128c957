/** Occurrences of a project's classes, features and resolvers in a Python file. */

import { parser } from "@lezer/python";
import { type ClassModel, literalText, type Meaning, type ProjectModel } from "../lint/project-model.ts";
import type { PythonNode, TextRange } from "../lint/python-expression.ts";
import { type BoundImports, type Import, type PythonModule, readImports } from "../lint/python-module.ts";
import { type Occurrence, type ProjectSymbol, pathOccurrences, type SymbolIndex } from "./symbol.ts";

/** The meaning of an expression, as far as names can be looked up in it. */
type Denotation =
  /** A dotted name that nothing of the project has so far, such as that of a module. */
  | { readonly kind: "names"; readonly path: readonly string[] }
  /** A class, or its row `_`. */
  | { readonly kind: "class"; readonly owner: ClassModel; readonly isRow: boolean }
  /** A feature; `target` is the class of a relation. */
  | { readonly kind: "feature"; readonly target: ClassModel | undefined; readonly isRow: boolean }
  /** A name of the SDK, such as `DataFrame`. */
  | { readonly kind: "sdk"; readonly name: string }
  /** A DataFrame of the rows of a class. */
  | { readonly kind: "rows"; readonly owner: ClassModel };

/** The context of a node. */
interface NodeContext {
  /** The names of the file, overlaid by those that enclosing functions import. */
  readonly module: PythonModule;
  /** Names that enclosing functions bind, with the class whose rows they hold. */
  readonly locals: ReadonlyMap<string, ClassModel | undefined>;
  /** The class whose row `_` is. */
  readonly row: ClassModel | undefined;
  /** Whether it is in an annotation: strings hold Python, and names are looked up late. */
  readonly isAnnotation: boolean;
  /**
   * Whether it is among the features of a named query: a string may be the name of a class alone.
   */
  readonly isQuery: boolean;
  /** The text that the nodes are of, and its offset in the file. */
  readonly text: string;
  readonly shift: number;
}

const LONGEST_QUOTED = 2000;
/** Longer dotted names are none of a module. */
const LONGEST_PATH = 20;
const STRING = /^([rRuU]?)("""|'''|"|')([\s\S]*)\2$/;
const PATH = /^[\p{ID_Continue}]+(?:\.[\p{ID_Continue}]+)+(?:\[[^\]]*\])?$/u;
const COMPREHENSION = /Comprehension/;
const QUERY_FEATURES = new Set(["input", "output", "staleness"]);
/** Parts of a scope that are scopes of their own, or bind nothing in it. */
const OWN_SCOPE = /^(?:FunctionDefinition|ClassDefinition|LambdaExpression|ImportStatement)$|Comprehension/;

/**
 * The occurrences in one file; `isWhole` is false when it is nested too deeply to be read in full.
 */
export function pythonOccurrences(index: SymbolIndex, module: PythonModule): { occurrences: Occurrence[]; isWhole: boolean } {
  const reader = new OccurrenceReader(index, module);
  try {
    reader.read();
    return { occurrences: reader.found, isWhole: true };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { occurrences: reader.found, isWhole: false };
  }
}

class OccurrenceReader {
  readonly found: Occurrence[] = [];
  readonly #model: ProjectModel;

  constructor(
    readonly index: SymbolIndex,
    readonly module: PythonModule,
  ) {
    this.#model = index.model;
  }

  read(): void {
    this.#definitions();
    const { module } = this;
    const outside = { locals: new Map(), row: undefined, isAnnotation: false, isQuery: false };
    this.#visit(module.tree, { ...outside, module, text: module.text, shift: 0 });
  }

  #definitions(): void {
    const { index, module } = this;
    const define = (symbol: ProjectSymbol, ranges: readonly TextRange[]): void => {
      for (const { from, to } of ranges) this.#emit(symbol, from, to, "python", true);
      const { nameOption } = symbol;
      const written = nameOption && literalText(nameOption);
      if (!nameOption || written === undefined) return;
      const from = nameOption.from + module.text.slice(nameOption.from, nameOption.to).indexOf(written);
      this.#emit(symbol, from, from + written.length, "query", true);
    };
    for (const item of index.classesIn(module)) {
      define(index.ofClass(item), [item.definition]);
      for (const field of item.fields.values())
        define(
          index.ofFeature(item, field),
          item.definition.fields.filter(({ name }) => name === field.attribute),
        );
    }
    for (const item of index.resolversIn(module)) define(index.ofResolver(item), [item.definition]);
  }

  #emit(symbol: ProjectSymbol, from: number, to: number, nameKind: Occurrence["nameKind"], isDefinition = false): void {
    this.found.push({ symbol, path: this.module.path, from, to, nameKind, isDefinition });
  }

  #visit(node: PythonNode, context: NodeContext): Denotation | undefined {
    switch (node.name) {
      case "PropertyName":
      case "Comment":
        return undefined;
      case "ImportStatement":
        return this.#import(node, context);
      case "VariableName":
        return this.#name(node, context);
      case "String":
        return this.#string(node, context);
      case "ParenthesizedExpression":
        return this.#children(node, context);
      case "MemberExpression":
        return this.#member(node, context);
      case "AttributePattern":
        return this.#path(node, context);
      case "CallExpression":
      case "ClassPattern":
        return this.#call(node, context);
      case "Decorator":
      case "KeywordPattern":
        return this.#arguments(node, context);
      case "TypeDef":
        return this.#children(node, { ...context, isAnnotation: true });
      case "ClassDefinition":
        return this.#class(node, context);
      case "FunctionDefinition":
      case "LambdaExpression":
        return this.#function(node, context);
      case "AssignStatement":
        return this.#assign(node, context);
      default:
        this.#children(node, COMPREHENSION.test(node.name) ? withLocals(context, boundIn(node, context.text)) : context);
        return undefined;
    }
  }

  /** Visits the children; gives the meaning of the last of them. */
  #children(node: PythonNode, context: NodeContext): Denotation | undefined {
    let last: Denotation | undefined;
    for (let child = node.firstChild; child; child = child.nextSibling) last = this.#visit(child, context) ?? last;
    return last;
  }

  #import(node: PythonNode, { module, text }: NodeContext): undefined {
    if (node.firstChild?.name !== "from") return;
    const bound = new Map(readImports(node, module.path, text).bound);
    for (let child = node.getChild("import")?.nextSibling; child; child = child.nextSibling) {
      if (child.name !== "VariableName") continue;
      const alias = child.nextSibling?.name === "as" ? child.nextSibling.nextSibling : undefined;
      const name = textOf(alias ?? child, text);
      const item = bound.get(name);
      const symbol = item && this.#symbolOf(this.#model.meaning(withImport(module, name, item), [name]));
      for (const each of alias ? [child, alias] : [child]) if (symbol) this.#use(symbol, each, textOf(each, text));
      child = alias ?? child;
    }
  }

  #name(node: PythonNode, context: NodeContext): Denotation | undefined {
    const { isAnnotation, locals, module, row } = context;
    const name = textOf(node, context.text);
    if (locals.has(name)) {
      const owner = locals.get(name);
      return owner && { kind: "rows", owner };
    }
    if (name === "_") return row && { kind: "class", owner: row, isRow: true };
    const range = rangeInFile(node, context);
    const found = this.#meaning([name], range, module);
    if (found?.kind !== "names" || !isAnnotation || this.#model.meaning(module, [name]).kind !== "undefined") return found;
    const owner = this.index.onlyClass(name);
    if (!owner) return found;
    this.#use(this.index.ofClass(owner), range, name);
    return { kind: "class", owner, isRow: false };
  }

  /** The meaning of a dotted name of a module; `range` is that of its last part. */
  #meaning(path: readonly string[], range: TextRange, module: PythonModule): Denotation | undefined {
    if (path.length > LONGEST_PATH) return undefined;
    const meaning = this.#lookUp(path, module);
    const symbol = this.#symbolOf(meaning);
    if (symbol) this.#use(symbol, range, path.at(-1) as string);
    if (meaning.kind === "class") return { kind: "class", owner: meaning.model, isRow: false };
    if (meaning.kind === "sdk") return { kind: "sdk", name: meaning.name };
    return meaning.kind === "unknown" || meaning.kind === "undefined" ? { kind: "names", path } : undefined;
  }

  /**
   * The meaning of a dotted name by the model, or else by `import *`, which the model does not
   * follow.
   */
  #lookUp(path: readonly string[], module: PythonModule): Meaning {
    const meaning = this.#model.meaning(module, path);
    const [name = ""] = path;
    const isBound = module.imports.has(name) || module.definitions.some((own) => own.name === name);
    if (meaning.kind !== "unknown" || path.length > 1 || isBound) return meaning;
    const found = module.stars.map((star) => this.#model.meaning(withImport(module, name, { module: star, name }), [name]));
    return found.findLast((each) => each.kind === "class" || each.kind === "resolver" || each.kind === "sdk") ?? meaning;
  }

  #symbolOf(meaning: Meaning): ProjectSymbol | undefined {
    if (meaning.kind === "class") return this.index.ofClass(meaning.model);
    return meaning.kind === "resolver" ? this.index.ofResolver(meaning.model) : undefined;
  }

  #use(symbol: ProjectSymbol, { from, to }: TextRange, written: string): void {
    this.#emit(symbol, from, to, written === symbol.name ? "python" : "alias");
  }

  #member(node: PythonNode, context: NodeContext): Denotation | undefined {
    const object = node.firstChild ? this.#visit(node.firstChild, context) : undefined;
    const property = node.getChild("PropertyName");
    return property ? this.#property(object, property, context) : this.#brackets(node, context, object);
  }

  /** `pkg.models.User` in a pattern. */
  #path(node: PythonNode, context: NodeContext): Denotation | undefined {
    let found = node.firstChild ? this.#visit(node.firstChild, context) : undefined;
    for (const property of node.getChildren("PropertyName")) found = this.#property(found, property, context);
    return found;
  }

  /** The meaning of a name behind a dot. */
  #property(object: Denotation | undefined, property: PythonNode, context: NodeContext): Denotation | undefined {
    const name = textOf(property, context.text);
    const range = rangeInFile(property, context);
    if (object?.kind === "names") return this.#meaning([...object.path, name], range, context.module);
    if (object?.kind !== "class" && object?.kind !== "feature") return undefined;
    const owner = object.kind === "class" ? object.owner : object.target;
    const field = owner && this.index.attribute(owner, name);
    if (!owner || !field) return undefined;
    this.#emit(this.index.ofFeature(owner, field), range.from, range.from + field.attribute.length, "python");
    return { kind: "feature", target: this.index.target(owner, field), isRow: object.isRow };
  }

  /** `_.flights[_.delay > 15]`, `User.fails["10m"]`, `frame["amount"]`, `DataFrame[User]`. */
  #brackets(node: PythonNode, context: NodeContext, object: Denotation | undefined): Denotation | undefined {
    const written = object?.kind === "names" ? object.path.at(-1) : undefined;
    if (context.isAnnotation && written === "Literal") return undefined;
    const row = object?.kind === "feature" && object.isRow && object.target ? object.target : context.row;
    let inner: Denotation | undefined;
    for (let child = node.firstChild?.nextSibling; child; child = child.nextSibling) {
      if (context.isAnnotation && written === "Annotated" && child.name === ",") break;
      const column = object?.kind === "rows" && child.name === "String" ? this.#column(child, context, object.owner) : false;
      if (!column) inner = this.#visit(child, { ...context, row }) ?? inner;
    }
    if (object?.kind !== "sdk" || object.name !== "DataFrame") return object;
    return inner?.kind === "class" ? { kind: "rows", owner: inner.owner } : undefined;
  }

  /** A column of a DataFrame by its name alone. */
  #column(node: PythonNode, context: NodeContext, owner: ClassModel): boolean {
    const string = stringOf(node, context);
    const field = string && this.index.queried(owner, string.value);
    if (!string || field?.name === undefined) return false;
    this.#emit(this.index.ofFeature(owner, field), string.from, string.from + field.name.length, "query");
    return true;
  }

  #call(node: PythonNode, context: NodeContext): undefined {
    const callee = node.firstChild;
    const found = callee ? this.#visit(callee, context) : undefined;
    const list = callee?.nextSibling;
    const owner = found?.kind === "class" && !found.isRow ? found.owner : undefined;
    if (list) this.#arguments(list, context, owner, found?.kind === "sdk" && found.name === "NamedQuery");
  }

  /** Arguments; the keywords of `User(name="Ada")` are features of the class. */
  #arguments(node: PythonNode, context: NodeContext, owner?: ClassModel, isQuery = false): undefined {
    let keyword = "";
    for (let child = node.firstChild; child; child = child.nextSibling) {
      const isKeyword = node.name === "KeywordPattern" ? !child.prevSibling : child.nextSibling?.name === "AssignOp";
      if (child.name === ",") keyword = "";
      if (child.name === "ArgList" || child.name === "KeywordPattern") this.#arguments(child, context, owner);
      else if (!isKeyword) this.#visit(child, isQuery ? { ...context, isQuery: QUERY_FEATURES.has(keyword) } : context);
      else {
        keyword = textOf(child, context.text);
        const field = owner && this.index.attribute(owner, keyword);
        const { from } = rangeInFile(child, context);
        if (field) this.#emit(this.index.ofFeature(owner, field), from, from + field.attribute.length, "python");
      }
    }
  }

  #class(node: PythonNode, context: NodeContext): undefined {
    const name = node.getChild("VariableName");
    const own = this.index.classesIn(this.module).find(({ definition }) => definition.from === name?.from);
    const isRow = own && this.#model.sdkName(this.module, ["_"]) === "_";
    for (let child = node.firstChild; child; child = child.nextSibling)
      if (child.name === "Body") this.#children(child, { ...context, row: isRow ? own : undefined });
      else if (child.name === "ArgList") this.#arguments(child, context);
  }

  /** A function or a lambda: its parameters and what it binds are names of its body alone. */
  #function(node: PythonNode, context: NodeContext): undefined {
    const { module, text } = context;
    const locals: Map<string, ClassModel | undefined> = boundIn(node, text);
    const list = node.getChild("ParamList");
    for (let child = list?.firstChild; child; child = child.nextSibling) {
      if (child.name !== "VariableName" || child.prevSibling?.name === "AssignOp") {
        if (child.name !== "TypeDef") this.#visit(child, context);
        continue;
      }
      const type = child.nextSibling?.name === "TypeDef" ? child.nextSibling : undefined;
      const found = type && this.#visit(type, context);
      const rows = found?.kind === "rows" ? found.owner : found?.kind === "feature" ? found.target : undefined;
      const name = textOf(child, text);
      locals.set(name, locals.has(name) ? undefined : rows);
    }
    const returns = node.getChild("TypeDef");
    if (returns) this.#visit(returns, context);
    const imports = importsIn(node, module.path, text);
    for (const [name] of imports) locals.delete(name);
    const inner = withLocals(context, locals);
    const names = new Map(imports);
    const definitions = module.definitions.filter(({ name }) => !names.has(name));
    const seen = names.size > 0 ? { ...module, imports: new Map([...module.imports, ...names]), definitions } : module;
    for (let child = (list ?? node.firstChild)?.nextSibling; child; child = child.nextSibling)
      if (child.name !== "TypeDef") this.#visit(child, { ...inner, module: seen });
  }

  #assign(node: PythonNode, context: NodeContext): undefined {
    const target = node.firstChild;
    const isField = node.parent?.parent?.name === "ClassDefinition" && target?.name === "VariableName";
    const exports = !isField && target?.name === "VariableName" && textOf(target, context.text) === "__all__";
    for (let child = isField || exports ? target?.nextSibling : target; child; child = child.nextSibling)
      if (exports) this.#exports(child, context);
      else this.#visit(child, context);
  }

  /** The names in `__all__`. */
  #exports(node: PythonNode, context: NodeContext): void {
    const string = node.name === "String" ? stringOf(node, context) : undefined;
    if (string) this.#meaning([string.value], { from: string.from, to: string.from + string.value.length }, context.module);
    for (let child = node.firstChild; child; child = child.nextSibling) this.#exports(child, context);
  }

  /** A quoted annotation, or a text that is a whole path of features. */
  #string(node: PythonNode, context: NodeContext): Denotation | undefined {
    const string = stringOf(node, context);
    if (!string || string.value.length > LONGEST_QUOTED) return undefined;
    if (context.isAnnotation) {
      const lead = string.value.length - string.value.trimStart().length;
      const text = string.value.slice(lead);
      const expression = parser.parse(text).topNode.getChild("ExpressionStatement")?.firstChild;
      return expression ? this.#visit(expression, { ...context, text, shift: string.from + lead }) : undefined;
    }
    if (!context.isQuery && !PATH.test(string.value)) return undefined;
    const owner = this.index.classOf(string.value.split(".")[0] as string);
    const found = owner && pathOccurrences(this.index, this.module.path, string.from, string.value, { owner, nameKind: "query" });
    this.found.push(...(found ?? []));
    return undefined;
  }
}

function textOf({ from, to }: PythonNode, text: string): string {
  return text.slice(from, to);
}

/** The module with a name bound by an import alone. */
function withImport(module: PythonModule, name: string, item: Import): PythonModule {
  return { ...module, imports: new Map([[name, item]]), definitions: [] };
}

/** The range of a node in its file. */
function rangeInFile({ from, to }: PythonNode, { shift }: NodeContext): TextRange {
  return { from: from + shift, to: to + shift };
}

/** The value of a plain string literal, and its offset in the file. */
function stringOf(node: PythonNode, context: NodeContext): { readonly value: string; readonly from: number } | undefined {
  const [, prefix = "", quote = "", value] = STRING.exec(textOf(node, context.text)) ?? [];
  if (value === undefined || (value.includes("\\") && !/r/i.test(prefix))) return undefined;
  return { value, from: node.from + context.shift + prefix.length + quote.length };
}

function withLocals(context: NodeContext, locals: ReadonlyMap<string, ClassModel | undefined>): NodeContext {
  return locals.size > 0 ? { ...context, locals: new Map([...context.locals, ...locals]) } : context;
}

/**
 * The names that the body of a function, or a comprehension, binds; what a function imports is left
 * out.
 */
function boundIn(node: PythonNode, text: string): Map<string, undefined> {
  const bound = new Map<string, undefined>();
  const bind = (target: PythonNode | null): void => {
    if (target?.name === "VariableName") bound.set(textOf(target, text), undefined);
    else if (target && /^(?:Tuple|Array|Parenthesized)Expression$/.test(target.name))
      for (let child = target.firstChild; child; child = child.nextSibling) bind(child);
  };
  const visit = (parent: PythonNode): void => {
    const assignment = parent.name === "AssignStatement" ? (parent.getChildren("AssignOp").at(-1)?.from ?? parent.to) : parent.from;
    let isLoop = false;
    for (let child = parent.firstChild; child; child = child.nextSibling) {
      if (child.name === "for" || child.name === "in") isLoop = child.name === "for";
      if (isLoop || child.from < assignment || child.prevSibling?.name === "as") bind(child);
      if (child.name === "FunctionDefinition" || child.name === "ClassDefinition") bind(child.getChild("VariableName"));
      else if (child.name === "NamedExpression" || child.name === "CapturePattern") bind(child.firstChild);
      if (!OWN_SCOPE.test(child.name)) visit(child);
    }
  };
  const scope = node.name === "FunctionDefinition" ? node.getChild("Body") : node.name === "LambdaExpression" ? null : node;
  if (scope) visit(scope);
  return bound;
}

/** The names that import statements of a function bind. */
function importsIn(node: PythonNode, path: string, text: string): BoundImports["bound"] {
  const found: BoundImports["bound"] = [];
  const visit = (parent: PythonNode): void => {
    for (let child = parent.firstChild; child; child = child.nextSibling)
      if (child.name === "ImportStatement") found.push(...readImports(child, path, text).bound);
      else if (child.name === "Body" || child.getChild("Body")) visit(child);
  };
  const body = node.getChild("Body");
  if (body) visit(body);
  return found;
}
