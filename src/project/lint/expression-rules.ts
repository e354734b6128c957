/**
 * Rules about expressions of `_` that their text shows: 133, unknown functions; 134, operators that
 * Python decides at once; 135, expressions in resolvers; 180, windows.
 */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import { closestNames, didYouMean } from "../../domain/closest.ts";
import { AGGREGATIONS } from "../../domain/expressions/aggregations.ts";
import { PYTHON_NAMES } from "../../domain/expressions/python-module.ts";
import { finding } from "../../domain/finding.ts";
import { readableName } from "../../domain/name.ts";
import { BAD_WINDOW, DECIDED_AT_ONCE, EXPRESSION_IN_RESOLVER, UNKNOWN_FUNCTION } from "../../domain/rules/expressions.ts";
import type { RuleProblem } from "../../domain/rules/rule.ts";
import { CHAIN_CURE, OPERATOR_CURES } from "../../domain/rules/sentences.ts";
import { dottedPath, type FieldModel, isSdkFunction, literalText, type ProjectModel, sdkName, windowSeconds } from "./project-model.ts";
import { type PythonNode, readExpression } from "./python-expression.ts";
import type { PythonModule } from "./python-module.ts";
import type { Spans } from "./spans.ts";

const METHODS = [...AGGREGATIONS.keys(), "isin", "cast"];
const RESOLVERS = new Set(["online", "offline", "realtime", "batch"]);

/**
 * Findings about the expressions in a module, except those of rule 180. They follow from its text
 * alone, and only hold in a project that does not hide the SDK.
 */
export function expressionFindings(module: PythonModule, tree: PythonNode, spans: Spans): Diagnostic[] {
  return new ExpressionLinter(module, spans).run(tree);
}

/** Findings of rule 180 about all classes. */
export function allWindowFindings(model: ProjectModel, spans: Spans): Diagnostic[] {
  return model.classes.flatMap((item) => [...item.fields.values()].flatMap((field) => windowFindings(model, item.module, field, spans)));
}

/** Rule 180: windows. */
function windowFindings(model: ProjectModel, module: PythonModule, field: FieldModel, spans: Spans): Diagnostic[] {
  const { value, annotation } = field.source;
  const feature = field.attribute;
  if (!value) {
    const path = annotation.kind === "subscript" ? dottedPath(annotation.object) : undefined;
    if (!path || model.sdkName(module, path) !== "Windowed") return [];
    const example = `${feature}: ${module.text.slice(annotation.from, annotation.to)} = windowed("1d", "7d")`;
    return [finding(BAD_WINDOW.noValue({ feature, example }), spans.of(module, annotation.from, annotation.to))];
  }
  if (value.kind !== "call" || field.windows === undefined) return [];
  const { positional, open } = value.call;
  if (positional.length === 0 && !open) return [finding(BAD_WINDOW.noWindows({ feature }), spans.of(module, value.from, value.to))];
  const seen = new Map<number, string>();
  return positional.flatMap((window) => {
    const written = literalText(window);
    const span = spans.of(module, window.from, window.to);
    const source = module.text.slice(window.from, window.to);
    const isOther = window.kind === "number" || window.kind === "bool" || window.kind === "none" || window.kind === "list";
    if (written === undefined && !isOther) return [];
    const seconds = windowSeconds(window);
    if (seconds === undefined) return [finding(BAD_WINDOW.noWindow({ written: source, feature }), span)];
    const first = seen.get(seconds);
    seen.set(seconds, first ?? source);
    if (first === undefined) return [];
    const length = readableName(`__${seconds}__`).slice(1, -1);
    return [finding(BAD_WINDOW.sameWindow({ feature, window: length, first, second: source }), span)];
  });
}

/** A walk over a module; one that is nested too deeply is walked in part. */
class ExpressionLinter {
  readonly #findings: Diagnostic[] = [];
  readonly #hasRow: boolean;

  constructor(
    readonly module: PythonModule,
    readonly spans: Spans,
  ) {
    this.#hasRow = sdkName(module, ["_"]) === "_";
  }

  run(tree: PythonNode): Diagnostic[] {
    const hasFunctions = [...this.module.imports.values()].some((item) => item.module.startsWith("svc"));
    try {
      if (this.#hasRow || hasFunctions) this.#visit(tree, { isClassBody: false, inBrackets: false, inResolver: false });
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
    return this.#findings;
  }

  #visit(node: PythonNode, context: Context): void {
    if (node.name === "String" || node.name === "FormatString" || node.name === "ImportStatement") return;
    const inner = this.#contextOf(node, context);
    for (let child = node.firstChild; child; child = child.nextSibling)
      this.#visit(child, { ...inner, inBrackets: inner.inBrackets || (node.name === "MemberExpression" && child.from > node.from) });
    this.#functions(node, context);
    if (context.inResolver) this.#inResolver(node);
    else if (this.#hasRow && context.isClassBody && !context.inBrackets) this.#operators(node);
  }

  #contextOf(node: PythonNode, context: Context): Context {
    if (node.name === "ClassDefinition")
      return { isClassBody: this.#isDecorated(node, ["features"]), inBrackets: false, inResolver: false };
    if (node.name === "LambdaExpression") return { ...context, isClassBody: false };
    if (node.name !== "FunctionDefinition") return context;
    const inResolver =
      context.inResolver || (this.#isDecorated(node, RESOLVERS) && !/\b(?:for|as)\s+_\b|(?:^|[^\w.])_\s*[,=](?!=)/m.test(this.#text(node)));
    return { isClassBody: false, inBrackets: false, inResolver };
  }

  #isDecorated(node: PythonNode, names: Iterable<string>): boolean {
    const wanted = new Set(names);
    return (node.parent?.getChildren("Decorator") ?? []).some((decorator) => {
      const path = this.#text(decorator).replace(/^@\s*/, "").split("(")[0] ?? "";
      return wanted.has(sdkName(this.module, path.trim().split(/\s*\.\s*/)) ?? "");
    });
  }

  /** Rule 133: unknown functions. */
  #functions(node: PythonNode, context: Context): void {
    const property = node.name === "MemberExpression" ? node.getChild("PropertyName") : null;
    if (property && !context.inResolver) {
      const name = this.#text(property);
      const object = node.firstChild && readExpression(node.firstChild, this.module.text);
      const isModule = object && this.#isFunctionModule(dottedPath(object));
      if (isModule && !name.startsWith("_") && name !== "call" && !PYTHON_NAMES.includes(name))
        this.#unknown(property, "function", PYTHON_NAMES);
    }
    const callee = node.name === "CallExpression" ? node.firstChild : null;
    const method = callee?.name === "MemberExpression" ? callee.getChild("PropertyName") : null;
    if (!callee || !method || !context.isClassBody || !this.#isRowChain(callee) || !hasBrackets(callee.firstChild)) return;
    const name = this.#text(method);
    if (!METHODS.includes(name)) this.#unknown(method, "aggregation", METHODS);
  }

  #unknown(node: PythonNode, what: string, known: readonly string[]): void {
    const name = this.#text(node);
    const near = didYouMean(name, known);
    this.#report(node, UNKNOWN_FUNCTION.function({ what, name, near: near && `; ${near}` }), closestNames(name, known));
  }

  #isFunctionModule(path: readonly string[] | undefined): boolean {
    const item = path && this.module.imports.get(path[0] as string);
    if (!path || !item || sdkName(this.module, [...path, "_"]) === undefined) return false;
    const dotted = [...item.module.split("."), ...(item.name === undefined ? [] : [item.name]), ...path.slice(1)];
    return dotted.join(".") === "svc.functions";
  }

  /** Rule 134: operators that Python evaluates at import. */
  #operators(node: PythonNode): void {
    if (node.name === "UnaryExpression" && node.firstChild?.name === "not") {
      if (this.#isExpression(node.lastChild)) this.#decided("not", node.firstChild);
    } else if (node.name === "ConditionalExpression") {
      const test = node.getChild("if")?.nextSibling ?? null;
      if (this.#isExpression(test) && test) this.#decided("if", test);
    } else if (node.name === "BinaryExpression") this.#binary(node);
  }

  #binary(node: PythonNode): void {
    const [left, right] = [node.firstChild, node.lastChild];
    const words: PythonNode[] = [];
    for (let child = left?.nextSibling; child && right && child.from < right.from; child = child.nextSibling)
      if (child.name !== "Comment") words.push(child);
    const [first, last] = [words[0], words.at(-1)];
    const word = words.map((each) => this.#text(each)).join(" ");
    if (!left || !right || !first || !last) return;
    if (word === "and" || word === "or") {
      if (this.#isExpression(left) && !isBoolean(left)) this.#decided(word, first);
    } else if (["in", "not in", "is", "is not"].includes(word)) {
      const isContainer = word.endsWith("in") && this.#isExpression(right) && !this.#isExpression(left);
      if (this.#isExpression(left) || this.#isExpression(right))
        this.#decided(word, first, last, isContainer ? word.replace("in", "contains") : word);
    } else if (isComparison(node) && isComparison(left) && (this.#isExpression(left) || this.#isExpression(right)))
      this.#decided(word, first);
  }

  #decided(word: string, from: PythonNode, to = from, cureName = word): void {
    const problem = DECIDED_AT_ONCE.operator({ word, cure: OPERATOR_CURES[cureName] ?? CHAIN_CURE });
    this.#findings.push(finding(problem, this.spans.of(this.module, from.from, to.to)));
  }

  /** Rule 135: expressions in resolvers. */
  #inResolver(node: PythonNode): void {
    const callee = node.name === "CallExpression" ? node.firstChild : null;
    if (callee?.name === "MemberExpression" && isSdkFunction(this.module, readExpression(callee, this.module.text))) {
      this.#report(callee, EXPRESSION_IN_RESOLVER.function({ function: this.#text(callee) }));
    }
    if (node.name !== "MemberExpression" || !node.firstChild) return;
    const object = node.firstChild;
    if (this.#hasRow && object.name === "VariableName" && this.#text(object) === "_") this.#report(node, EXPRESSION_IN_RESOLVER.row());
  }

  /** Whether a node is surely an expression of `_`. */
  #isExpression(node: PythonNode | null): boolean {
    if (!node) return false;
    switch (node.name) {
      case "ParenthesizedExpression":
        return this.#isExpression(node.firstChild?.nextSibling ?? null);
      case "MemberExpression":
        return this.#isRowChain(node);
      case "CallExpression": {
        const callee = node.firstChild;
        return callee !== null && (this.#isRowChain(callee) || isSdkFunction(this.module, readExpression(callee, this.module.text)));
      }
      case "UnaryExpression":
        return this.#isExpression(node.lastChild);
      case "BinaryExpression":
        return this.#isExpression(node.firstChild) || this.#isExpression(node.lastChild);
      default:
        return false;
    }
  }

  /** `_.a`, `_.a[...]`, `_.a[...].count()`. */
  #isRowChain(node: PythonNode): boolean {
    let at: PythonNode | null = node;
    while (at && (at.name === "MemberExpression" || at.name === "CallExpression")) at = at.firstChild;
    return node.name !== "VariableName" && at?.name === "VariableName" && this.#text(at) === "_";
  }

  #text(node: PythonNode): string {
    return this.module.text.slice(node.from, node.to);
  }

  #report(node: PythonNode, problem: RuleProblem, replacements: readonly string[] = []): void {
    this.#findings.push(finding(problem, this.spans.of(this.module, node.from, node.to), { replacements }));
  }
}

interface Context {
  /** Whether it is in the body of a feature class. */
  readonly isClassBody: boolean;
  /** Whether it is in brackets, where the SDK makes these operators visible. */
  readonly inBrackets: boolean;
  /** Whether it is in the body of a resolver that does not use `_` as a name of its own. */
  readonly inResolver: boolean;
}

function hasBrackets(node: PythonNode | null): boolean {
  let at = node;
  while (at?.name === "MemberExpression") {
    if (at.getChild("[")) return true;
    at = at.firstChild;
  }
  return false;
}

function isComparison(node: PythonNode): boolean {
  return node.name === "BinaryExpression" && node.getChild("CompareOp") !== null;
}

/** Whether a node is `a and b` or `a or b`, about which there is a finding of its own. */
function isBoolean(node: PythonNode): boolean {
  return node.name === "BinaryExpression" && (node.getChild("and") !== null || node.getChild("or") !== null);
}
