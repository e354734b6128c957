/**
 * Types of expressions: their notation in the function table, and the matching of arguments with
 * parameters.
 */

import { create } from "@bufbuild/protobuf";
import { type DataType, DataTypeSchema, ListTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { type FeatureValue, typeName } from "../value.ts";

/**
 * Types of parameters and results in the table's notation: a type, `any`, a variable such as `T`,
 * or a list of one of these.
 */
export type Pattern =
  | { readonly kind: "type"; readonly type: DataType }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "list"; readonly element: Pattern }
  | { readonly kind: "any" };

/** The parameters and the result of a function. */
export interface Signature {
  readonly parameters: readonly Pattern[];
  /**
   * Pattern of the arguments after `parameters`, any number of them; undefined = none may follow.
   */
  readonly rest: Pattern | undefined;
  readonly result: Pattern;
  /** Whether the result may be null even when no argument is: the `?` behind the result. */
  readonly resultNullable: boolean;
  /** As the table writes it: `list[T], int -> T?`. */
  readonly text: string;
}

const primitive = (value: PrimitiveType): DataType => create(DataTypeSchema, { kind: { case: "primitive", value } });

/** The types without parameters by the names that the table uses. */
export const PRIMITIVES = {
  int: primitive(PrimitiveType.INT64),
  float: primitive(PrimitiveType.FLOAT64),
  str: primitive(PrimitiveType.STRING),
  bool: primitive(PrimitiveType.BOOL),
  bytes: primitive(PrimitiveType.BYTES),
  date: primitive(PrimitiveType.DATE),
  datetime: primitive(PrimitiveType.DATETIME),
  timedelta: primitive(PrimitiveType.TIMEDELTA),
  decimal: primitive(PrimitiveType.DECIMAL),
  json: primitive(PrimitiveType.JSON),
} as const;

/** The type of the constant null, which goes with every type. */
export const NULL_TYPE = primitive(PrimitiveType.UNSPECIFIED);

/** A list type. */
export function listOf(element: DataType, elementNullable = false): DataType {
  return create(DataTypeSchema, { kind: { case: "list", value: create(ListTypeSchema, { element, elementNullable }) } });
}

/** The type in words for messages; the null constant is `null`. */
export function typeWords(type: DataType): string {
  return isNullType(type) ? "null" : typeName(type);
}

/**
 * The signature of a text: parameters with commas between them, `->`, the result. `...` behind the
 * last parameter repeats it.
 */
export function parseSignature(text: string): Signature {
  const [left = "", right = ""] = text.split("->").map((side) => side.trim());
  const words = left === "" ? [] : left.split(",").map((word) => word.trim());
  const repeated = words.at(-1)?.endsWith("...") ? (words.pop() as string).slice(0, -3) : undefined;
  const resultNullable = right.endsWith("?");
  return {
    parameters: words.map(parsePattern),
    rest: repeated === undefined ? undefined : parsePattern(repeated),
    result: parsePattern(resultNullable ? right.slice(0, -1) : right),
    resultNullable,
    text,
  };
}

function parsePattern(word: string): Pattern {
  const element = /^list\[(.+)\]$/.exec(word)?.[1];
  if (element) return { kind: "list", element: parsePattern(element) };
  if (word === "any") return { kind: "any" };
  if (/^[A-Z]$/.test(word)) return { kind: "variable", name: word };
  const type = (PRIMITIVES as Readonly<Record<string, DataType>>)[word];
  if (!type) throw new Error(`'${word}' is no type`);
  return { kind: "type", type };
}

/** A signature that fits the arguments. */
export interface Match {
  readonly result: DataType;
  /** The type that each argument is brought to; undefined = it is taken as it is. */
  readonly parameters: readonly (DataType | undefined)[];
  /**
   * How much the arguments are widened: 1 for each from int to float, 2 for each from int to
   * decimal.
   */
  readonly cost: number;
}

interface Binding {
  readonly type: DataType;
  readonly nullable: boolean;
}

/** The match of arguments with a signature; undefined when they do not fit. */
export function matchSignature(signature: Signature, argumentTypes: readonly DataType[]): Match | undefined {
  const { parameters, rest } = signature;
  if (argumentTypes.length < parameters.length || (argumentTypes.length > parameters.length && !rest)) return undefined;
  const patterns = argumentTypes.map((_, index) => parameters[index] ?? (rest as Pattern));
  const bindings = new Map<string, Binding>();
  for (const [index, type] of argumentTypes.entries())
    if (!bind(patterns[index] as Pattern, plain(type), false, bindings)) return undefined;
  let cost = 0;
  const wanted: (DataType | undefined)[] = [];
  for (const [index, type] of argumentTypes.entries()) {
    const target = resolve(patterns[index] as Pattern, bindings);
    const widened = target ? widening(type, target) : 0;
    if (widened === undefined) return undefined;
    cost += widened;
    wanted.push(widened > 0 ? target : undefined);
  }
  return { result: resolve(signature.result, bindings) ?? NULL_TYPE, parameters: wanted, cost };
}

function bind(pattern: Pattern, type: DataType, nullable: boolean, bindings: Map<string, Binding>): boolean {
  if (pattern.kind === "variable") {
    const known = bindings.get(pattern.name);
    const joined = known ? joinTypes(known.type, type) : type;
    if (joined) bindings.set(pattern.name, { type: joined, nullable: nullable || known?.nullable === true });
    return joined !== undefined;
  }
  if (pattern.kind !== "list" || isNullType(type)) return true;
  if (type.kind.case !== "list") return false;
  return bind(pattern.element, plain(type.kind.value.element ?? NULL_TYPE), type.kind.value.elementNullable, bindings);
}

function resolve(pattern: Pattern, bindings: ReadonlyMap<string, Binding>): DataType | undefined {
  switch (pattern.kind) {
    case "type":
      return pattern.type;
    case "any":
      return undefined;
    case "variable":
      return bindings.get(pattern.name)?.type ?? NULL_TYPE;
    case "list": {
      const element = resolve(pattern.element, bindings);
      const nullable = pattern.element.kind === "variable" && bindings.get(pattern.element.name)?.nullable === true;
      return element && listOf(element, nullable);
    }
  }
}

/** Whether it is the type of the constant null. */
export function isNullType(type: DataType): boolean {
  return type.kind.case === "primitive" && type.kind.value === PrimitiveType.UNSPECIFIED;
}

/** The type that an enum's values have; other types are themselves. */
function plain(type: DataType): DataType {
  return type.kind.case === "enum" ? primitive(type.kind.value.base) : type;
}

/**
 * The least type that both can be brought to: int and float make float, int and decimal decimal,
 * null goes with every type. Undefined when there is none.
 */
export function joinTypes(left: DataType, right: DataType): DataType | undefined {
  if (widening(left, right) !== undefined) return ofBoth(plain(right), left);
  if (widening(right, left) !== undefined) return ofBoth(plain(left), right);
  return undefined;
}

/** A type that another goes with: of vectors that differ, or of a vector and a list, lists. */
function ofBoth(type: DataType, other: DataType): DataType {
  if (type.kind.case !== "list" || !type.kind.value.vector) return type;
  const isSame = typeWords(type) === typeWords(other) || isNullType(other);
  return isSame ? type : listOf(type.kind.value.element ?? NULL_TYPE);
}

/**
 * The distance from a type to another: 0 = its values are values of it, more = ints are widened to
 * float or decimal, undefined = it does not fit. Whether a list is a vector is told by its values
 * alone, when a feature takes them.
 */
export function widening(from: DataType, to: DataType): number | undefined {
  if (isNullType(from)) return 0;
  const [source, target] = [from.kind, to.kind];
  if (source.case === "enum" && target.case === "enum") return source.value.name === target.value.name ? 0 : undefined;
  if (source.case === "enum") return widening(plain(from), to);
  if (target.case === "enum") return widening(from, plain(to));
  if (source.case === "primitive" && target.case === "primitive") {
    if (source.value === target.value) return 0;
    if (source.value !== PrimitiveType.INT64) return undefined;
    return target.value === PrimitiveType.FLOAT64 ? 1 : target.value === PrimitiveType.DECIMAL ? 2 : undefined;
  }
  if (source.case === "list" && target.case === "list")
    return widening(source.value.element ?? NULL_TYPE, target.value.element ?? NULL_TYPE);
  if (source.case === "struct" && target.case === "struct") return source.value.name === target.value.name ? 0 : undefined;
  return undefined;
}

/**
 * The conversion of a type's values to a wider type; undefined when they are values of it already.
 */
export function widener(from: DataType, to: DataType): ((value: FeatureValue) => FeatureValue) | undefined {
  if ((widening(from, to) ?? 0) === 0) return undefined;
  if (from.kind.case === "list" && to.kind.case === "list") {
    const inner = widener(from.kind.value.element ?? NULL_TYPE, to.kind.value.element ?? NULL_TYPE);
    return inner && ((value) => (Array.isArray(value) ? value.map((item) => (item === null ? null : inner(item))) : value));
  }
  if (to.kind.value === PrimitiveType.DECIMAL) return (value) => String(value);
  return (value) => (typeof value === "bigint" ? Number(value) : value);
}
