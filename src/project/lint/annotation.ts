/** The meaning of annotations, by the project model. */

import { type ClassModel, dottedPath, type FieldModel, literalText, type ProjectModel, windowSeconds } from "./project-model.ts";
import type { Expression } from "./python-expression.ts";
import type { PythonModule } from "./python-module.ts";

/** A path from a feature class to a feature. */
export interface FeaturePath {
  readonly root: ClassModel;
  readonly attributes: readonly string[];
  /** The last one's field. */
  readonly field: FieldModel;
  /** The class at the path's end, when the feature is a relation. */
  readonly relation: ClassModel | undefined;
  /** Whether the path goes through a has-many relation, or ends at one. */
  readonly many: boolean;
  readonly expression: Expression;
}

/** The meaning of an annotation without its wrappers. */
export type Core =
  | { readonly kind: "feature"; readonly path: FeaturePath }
  | { readonly kind: "class"; readonly model: ClassModel }
  /** `DataFrame[...]` of a class. */
  | { readonly kind: "rows"; readonly model: ClassModel }
  /** An attribute that the class at the path's end surely does not have. */
  | { readonly kind: "missing"; readonly model: ClassModel; readonly attribute: string; readonly from: number; readonly to: number }
  /** A name in a quoted annotation that nothing defines. */
  | { readonly kind: "undefined"; readonly name: string; readonly from: number; readonly to: number }
  /** A window that the feature surely does not have. */
  | { readonly kind: "no window"; readonly path: FeaturePath; readonly written: string; readonly from: number; readonly to: number }
  | { readonly kind: "selection"; readonly items: readonly Expression[]; readonly excluded: readonly Expression[] }
  | { readonly kind: "now" }
  /** A type that is surely no feature. */
  | { readonly kind: "value" }
  | { readonly kind: "unknown" };

/** The parts of an annotation. */
export interface Reading {
  readonly core: Core;
  readonly primary: boolean;
  readonly time: boolean;
}

const UNKNOWN: Core = { kind: "unknown" };
const VALUE: Core = { kind: "value" };
const CONTAINERS = new Set([
  "list",
  "set",
  "dict",
  "tuple",
  "frozenset",
  "List",
  "Set",
  "Dict",
  "Tuple",
  "FrozenSet",
  "Sequence",
  "Literal",
]);

/** The meaning of an annotation. `quoted`: it is text whose names Python looks up late. */
export function readAnnotation(model: ProjectModel, module: PythonModule, expression: Expression, quoted = false, depth = 0): Reading {
  const plain = (core: Core): Reading => ({ core, primary: false, time: false });
  const read = (inner: Expression, asQuoted = quoted): Reading => readAnnotation(model, module, inner, asQuoted, depth + 1);
  if (depth > 20) return plain(UNKNOWN);
  switch (expression.kind) {
    case "string":
      return expression.quoted ? read(expression.quoted, true) : plain(UNKNOWN);
    case "none":
    case "number":
    case "bool":
      return plain(VALUE);
    case "union": {
      if (expression.right.kind === "none") return read(expression.left);
      if (expression.left.kind === "none") return read(expression.right);
      const sides = [read(expression.left), read(expression.right)];
      const bad = sides.find((side) => side.core.kind === "undefined" || side.core.kind === "missing");
      return bad ?? plain(sides.every((side) => side.core.kind === "value") ? VALUE : UNKNOWN);
    }
    case "difference": {
      const { core } = read(expression.left);
      return plain(core.kind === "selection" ? { ...core, excluded: [...core.excluded, expression.right] } : UNKNOWN);
    }
    case "subscript":
      return readSubscript(model, module, expression, read);
    case "name":
    case "member":
      return readName(model, module, expression, quoted);
    default:
      return plain(UNKNOWN);
  }
}

function readSubscript(
  model: ProjectModel,
  module: PythonModule,
  expression: Extract<Expression, { kind: "subscript" }>,
  read: (inner: Expression) => Reading,
): Reading {
  const plain = (core: Core): Reading => ({ core, primary: false, time: false });
  const path = dottedPath(expression.object);
  const first = expression.items[0];
  if (!path || !first) return plain(UNKNOWN);
  const last = path.at(-1) as string;
  const meaning = model.meaning(module, path);
  if (meaning.kind === "sdk") {
    if (meaning.name === "Primary") return { ...read(first), primary: true };
    if (meaning.name === "Windowed") return read(first);
    if (meaning.name === "Features") return plain({ kind: "selection", items: expression.items, excluded: [] });
    return plain(
      meaning.name === "DataFrame"
        ? readRows(expression.items.map((item) => (item.kind === "string" ? UNKNOWN : read(item).core)))
        : UNKNOWN,
    );
  }
  if (meaning.kind === "unknown") {
    const { core } = read(expression.object);
    if (core.kind === "missing") return plain(core);
    if (core.kind === "feature" && !core.path.relation) return plain(readWindow(core.path, expression, first));
  }
  const source = module.imports.get(path[0] as string)?.module ?? "";
  const isTyping = /^(?:typing|typing_extensions|collections\.abc)$/.test(source);
  if (isTyping && last === "Optional") return read(first);
  if (isTyping && last === "Annotated") return plain(UNKNOWN);
  if (meaning.kind === "undefined") return read(expression.object);
  if (!CONTAINERS.has(last) || !(isTyping || meaning.kind === "type")) return plain(UNKNOWN);
  const inner = last === "Literal" ? [] : expression.items.map(read);
  return inner.find((item) => item.core.kind === "undefined" || item.core.kind === "missing") ?? plain(VALUE);
}

function readRows(items: readonly Core[]): Core {
  const [first] = items;
  if (items.length === 1 && first?.kind === "class") return { kind: "rows", model: first.model };
  return items.find((item) => item.kind === "undefined" || item.kind === "missing") ?? UNKNOWN;
}

/** `User.fails["10m"]`: one window of a feature. */
function readWindow(path: FeaturePath, expression: Expression, item: Expression): Core {
  const { windows, open } = path.field;
  const seconds = windowSeconds(item);
  if (!windows || seconds === undefined) return UNKNOWN;
  if (open || windows.includes(seconds)) {
    const attributes = [...path.attributes.slice(0, -1), `${path.field.attribute}__${seconds}__`];
    return { kind: "feature", path: { ...path, attributes, expression } };
  }
  return { kind: "no window", path, written: literalText(item) ?? "", from: item.from, to: item.to };
}

function readName(model: ProjectModel, module: PythonModule, expression: Expression, quoted: boolean): Reading {
  const plain = (core: Core): Reading => ({ core, primary: false, time: false });
  const path = dottedPath(expression);
  if (!path) return plain(UNKNOWN);
  for (let length = path.length; length >= 1; length--) {
    const meaning = model.meaning(module, path.slice(0, length));
    if (meaning.kind === "class") return plain(followPath(model, meaning.model, expression, path.length - length));
    if (length === path.length && meaning.kind === "type") return plain(VALUE);
    if (length === path.length && meaning.kind === "sdk") {
      if (meaning.name === "Now") return plain({ kind: "now" });
      return meaning.name === "FeatureTime" ? { ...plain(VALUE), time: true } : plain(UNKNOWN);
    }
    if (length > 1 || meaning.kind !== "undefined" || !quoted) continue;
    const named = model.classes.filter((candidate) => candidate.definition.name === path[0]);
    if (named.length === 1 && named[0]) return plain(followPath(model, named[0], expression, path.length - 1));
    if (named.length > 1 || model.mayHoldMoreClasses) return plain(UNKNOWN);
    const root = rootOf(expression);
    return plain({ kind: "undefined", name: path[0] as string, from: root.from, to: root.to });
  }
  return plain(UNKNOWN);
}

function rootOf(expression: Expression): Expression {
  let at = expression;
  while (at.kind === "member") at = at.object;
  return at;
}

/** The meaning of the last `count` attributes of a dotted expression, followed from a class. */
function followPath(model: ProjectModel, root: ClassModel, expression: Expression, count: number): Core {
  const members: Extract<Expression, { kind: "member" }>[] = [];
  for (let at = expression; at.kind === "member" && members.length < count; at = at.object) members.unshift(at);
  let owner: ClassModel | undefined = root;
  let field: FieldModel | undefined;
  let many = false;
  for (const member of members) {
    if (!owner) return UNKNOWN;
    field = owner.fields.get(member.name) ?? windowOf(owner, member.name);
    if (!field) {
      const isKnown = owner.complete && !member.name.startsWith("_") && !owner.definition.others.includes(member.name);
      return isKnown
        ? { kind: "missing", model: owner, attribute: member.name, from: member.nameFrom, to: member.nameFrom + member.name.length }
        : UNKNOWN;
    }
    many ||= relationCore(model, owner, field)?.kind === "rows";
    owner = relationOf(model, owner, field);
  }
  if (!field) return { kind: "class", model: root };
  return { kind: "feature", path: { root, attributes: members.map((member) => member.name), field, relation: owner, many, expression } };
}

/** The windowed feature that an attribute such as `fails__600__` is one window of. */
export function windowOf(owner: ClassModel, attribute: string): FieldModel | undefined {
  const match = /^(.+?)__([1-9]\d*)__$/.exec(attribute);
  const field = match && owner.fields.get(match[1] as string);
  return field && (field.open || field.windows?.includes(Number(match[2]))) ? field : undefined;
}

/** The class that a field relates to; undefined for a value, and when it is not known. */
export function relationOf(model: ProjectModel, owner: ClassModel, field: FieldModel): ClassModel | undefined {
  return relationCore(model, owner, field)?.model;
}

/** Fields whose annotations are being read: one that refers back to itself leads nowhere. */
const beingRead = new Set<FieldModel>();

function relationCore(model: ProjectModel, owner: ClassModel, field: FieldModel): Extract<Core, { kind: "class" | "rows" }> | undefined {
  if (beingRead.has(field)) return undefined;
  beingRead.add(field);
  try {
    const { core } = readAnnotation(model, owner.module, field.source.annotation, true);
    return core.kind === "class" || core.kind === "rows" ? core : undefined;
  } finally {
    beingRead.delete(field);
  }
}
