/**
 * Expressions of Python as far as annotations, decorators and defaults need them; everything else
 * is `other`.
 */

import { parser } from "@lezer/python";

/** A node of the parser's tree. */
export type PythonNode = ReturnType<typeof parser.parse>["topNode"];

/** A part of a file; offsets in UTF-16 units. */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/** An expression. */
export type Expression = TextRange &
  (
    | { readonly kind: "name"; readonly name: string }
    | { readonly kind: "member"; readonly object: Expression; readonly name: string; readonly nameFrom: number }
    | { readonly kind: "subscript"; readonly object: Expression; readonly items: readonly Expression[] }
    | { readonly kind: "call"; readonly callee: Expression; readonly call: Arguments }
    /**
     * `value` is undefined when only running it tells (formatted, escaped, bytes); `quoted` is the
     * annotation in it.
     */
    | { readonly kind: "string"; readonly value: string | undefined; readonly quoted: Expression | undefined }
    | { readonly kind: "number"; readonly text: string }
    | { readonly kind: "none" }
    | { readonly kind: "bool"; readonly value: boolean }
    | { readonly kind: "list"; readonly items: readonly Expression[] }
    | { readonly kind: "union"; readonly left: Expression; readonly right: Expression }
    | { readonly kind: "difference"; readonly left: Expression; readonly right: Expression }
    | { readonly kind: "other" }
  );

/** Arguments of a call or a decorator. */
export interface Arguments {
  readonly positional: readonly Expression[];
  readonly keywords: readonly Keyword[];
  /** Whether it has `*` or `**`, so that more may be given than is written. */
  readonly open: boolean;
}

/** A keyword argument. */
export interface Keyword extends TextRange {
  readonly name: string;
  readonly value: Expression;
}

/** No arguments. */
export const NO_ARGUMENTS: Arguments = { positional: [], keywords: [], open: false };

const DEEPEST = 40;
const LONGEST_QUOTED = 2000;
const PUNCTUATION = new Set(["(", ")", "[", "]", "{", "}", ",", ".", ":", "AssignOp", "*", "**"]);

/**
 * The expression of a node. `shift` is added to offsets: the text of a quoted annotation is
 * elsewhere in the file.
 */
export function readExpression(node: PythonNode, text: string, shift = 0, depth = 0): Expression {
  const range = { from: node.from + shift, to: node.to + shift };
  const other = { ...range, kind: "other" } as const;
  if (depth > DEEPEST) return other;
  const read = (child: PythonNode): Expression => readExpression(child, text, shift, depth + 1);
  const own = text.slice(node.from, node.to);
  switch (node.name) {
    case "VariableName":
      return { ...range, kind: "name", name: own };
    case "None":
      return { ...range, kind: "none" };
    case "Boolean":
      return { ...range, kind: "bool", value: own === "True" };
    case "Number":
      return { ...range, kind: "number", text: own };
    case "UnaryExpression":
      return node.lastChild?.name === "Number" ? { ...range, kind: "number", text: own } : other;
    case "String":
      return readString(own, range, depth);
    case "ParenthesizedExpression": {
      const inner = significant(node)[0];
      return inner ? read(inner) : other;
    }
    case "ArrayExpression":
    case "TupleExpression":
    case "SetExpression":
      return { ...range, kind: "list", items: significant(node).map((item) => (isSpread(item) ? otherAt(item, shift) : read(item))) };
    case "BinaryExpression": {
      const [left, operatorNode, right] = significant(node);
      const operator = operatorNode && text.slice(operatorNode.from, operatorNode.to);
      if (!left || !right || (operator !== "|" && operator !== "-")) return other;
      return { ...range, kind: operator === "|" ? "union" : "difference", left: read(left), right: read(right) };
    }
    case "CallExpression": {
      const [callee, list] = significant(node);
      if (!callee || list?.name !== "ArgList") return other;
      return { ...range, kind: "call", callee: read(callee), call: readArguments(list, text, shift, depth + 1) };
    }
    case "MemberExpression":
      return readMember(node, text, shift, depth, range);
    default:
      return other;
  }
}

function readMember(node: PythonNode, text: string, shift: number, depth: number, range: TextRange): Expression {
  const first = node.firstChild;
  if (!first) return { ...range, kind: "other" };
  const object = readExpression(first, text, shift, depth + 1);
  const property = node.getChild("PropertyName");
  if (property) return { ...range, kind: "member", object, name: text.slice(property.from, property.to), nameFrom: property.from + shift };
  const items = significant(node).slice(1);
  const hasSlice = items.length > 0 && text.slice(first.to, node.to).includes(":") && node.getChildren(":").length > 0;
  if (hasSlice || items.length === 0) return { ...range, kind: "other" };
  const flat = items.flatMap((item) => (item.name === "TupleExpression" ? significant(item) : [item]));
  return { ...range, kind: "subscript", object, items: flat.map((item) => readExpression(item, text, shift, depth + 1)) };
}

function isSpread(node: PythonNode): boolean {
  const before = node.prevSibling?.name;
  return before === "*" || before === "**";
}

function otherAt(node: PythonNode, shift: number): Expression {
  return { kind: "other", from: node.from + shift, to: node.to + shift };
}

/** Children that are neither punctuation nor comments. */
function significant(node: PythonNode): PythonNode[] {
  const found: PythonNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling)
    if (!PUNCTUATION.has(child.name) && child.name !== "Comment") found.push(child);
  return found;
}

/** The arguments of an `ArgList`. */
export function readArguments(list: PythonNode, text: string, shift = 0, depth = 0): Arguments {
  const positional: Expression[] = [];
  const keywords: Keyword[] = [];
  let open = false;
  let keyword: PythonNode | undefined;
  let starred = false;
  for (let child = list.firstChild; child; child = child.nextSibling) {
    if (child.name === "*" || child.name === "**") {
      open = true;
      starred = true;
    } else if (child.name === ",") {
      keyword = undefined;
      starred = false;
    } else if (child.type.isError) open = true;
    else if (child.nextSibling?.name === "AssignOp" && child.name === "VariableName") keyword = child;
    else if (child.name !== "(" && child.name !== ")" && child.name !== "AssignOp" && child.name !== "Comment" && !starred) {
      const value = readExpression(child, text, shift, depth + 1);
      if (keyword) keywords.push({ name: text.slice(keyword.from, keyword.to), value, from: keyword.from + shift, to: child.to + shift });
      else positional.push(value);
    }
  }
  return { positional, keywords, open };
}

function readString(own: string, range: TextRange, depth: number): Expression {
  const match = /^([rRuU]?)("""|'''|"|')([\s\S]*)\2$/.exec(own);
  const body = match?.[3];
  if (!match || body === undefined || (body.includes("\\") && !/r/i.test(match[1] as string)))
    return { ...range, kind: "string", value: undefined, quoted: undefined };
  const start = range.from + (match[1] as string).length + (match[2] as string).length;
  return { ...range, kind: "string", value: body, quoted: depth < DEEPEST ? readQuoted(body, start, depth) : undefined };
}

/** A quoted annotation; undefined when the text is no expression. */
function readQuoted(body: string, start: number, depth: number): Expression | undefined {
  if (body.length > LONGEST_QUOTED || !/^[\s\p{ID_Continue}.|[\]()"',\-@<>=&]+$/u.test(body)) return undefined;
  const leading = body.length - body.trimStart().length;
  const source = body.trimStart();
  const tree = parser.parse(source);
  const statement = tree.topNode.firstChild;
  if (statement?.name !== "ExpressionStatement" || statement.nextSibling) return undefined;
  let hasError = false;
  tree.iterate({
    enter(node) {
      hasError ||= node.type.isError;
    },
  });
  const inner = statement.firstChild;
  return !inner || hasError ? undefined : readExpression(inner, source, start + leading, depth + 1);
}
