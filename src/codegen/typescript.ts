/** TypeScript: types of features, and `FeaturesType` for a typed client. */

import { type DataType, PrimitiveType, type StructType } from "../../gen/svc/v1/value_pb.ts";
import { type FeatureClass, type FeatureModel, pathsFrom, typeKey } from "./feature-model.ts";
import { Identifiers, pascalCase } from "./identifiers.ts";
import { commentLines, generatedHead, originText } from "./mark.ts";

/** Steps of a path unless the caller says otherwise: a feature of a row of a row. */
export const DEFAULT_DEPTH = 3;
/** Most paths of a file; with more, no editor would show them. */
export const MOST_PATHS = 200_000;

/** Columns that the formatter fills. */
const WIDTH = 80;

/** Words that no type can have as its name, and names of types that the file uses. */
const RESERVED =
  "any as async await bigint boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for function get if implements import in infer instanceof interface is keyof let module namespace never new null number object of package private protected public readonly require return set static string super switch symbol this throw true try type typeof undefined unique unknown var void while with yield FeaturesType".split(
    " ",
  );

const PRIMITIVES: Readonly<Record<PrimitiveType, string>> = {
  [PrimitiveType.UNSPECIFIED]: "unknown",
  [PrimitiveType.INT64]: "number",
  [PrimitiveType.FLOAT64]: "number",
  [PrimitiveType.STRING]: "string",
  [PrimitiveType.BOOL]: "boolean",
  [PrimitiveType.BYTES]: "string",
  [PrimitiveType.DATE]: "string",
  [PrimitiveType.DATETIME]: "string",
  [PrimitiveType.TIMEDELTA]: "number",
  [PrimitiveType.DECIMAL]: "string",
  [PrimitiveType.JSON]: "unknown",
};

/** More paths than `MOST_PATHS`. */
export class TooManyPaths extends Error {
  override readonly name = "TooManyPaths";
}

/**
 * The file: a type for each struct and enum, an interface for the rows of each class, and
 * `FeaturesType`, the type of each feature by name, through at most `depth - 1` relations. Types
 * are
 * those of plain JSON. Throws TooManyPaths.
 */
export function generateTypescript(model: FeatureModel, depth: number = DEFAULT_DEPTH): string {
  const names = new Names(model);
  const parts = [
    ...[...model.types].map(([key, { kind, type }]) => {
      const name = names.types.get(key) as string;
      return kind === "enum"
        ? names.enumType(
            name,
            type.base,
            type.members.map(({ value }) => literalOf(value?.kind.value)),
          )
        : names.struct(name, type);
    }),
    ...model.classes.map((one) => names.row(one)),
    featuresType(model, names, depth),
  ];
  return `${generatedHead("codegen typescript", "//", originText(model))}\n${parts.join("\n")}`;
}

/** The names of a file's types, and types as text. */
class Names {
  readonly types: ReadonlyMap<string, string>;
  readonly classes: ReadonlyMap<FeatureClass, string>;

  constructor(model: FeatureModel) {
    const names = new Identifiers(RESERVED);
    this.classes = new Map(model.classes.map((one) => [one, names.take(pascalCase(one.name), "T")]));
    this.types = new Map([...model.types].map(([key, { type }]) => [key, names.take(pascalCase(type.name), "T")]));
  }

  typeOf(type: DataType | undefined): string {
    const { kind } = type ?? {};
    switch (kind?.case) {
      case "primitive":
        return PRIMITIVES[kind.value];
      case "list":
        return listOf(orNull(this.typeOf(kind.value.element), kind.value.elementNullable));
      case "struct":
      case "enum":
        return this.types.get(typeKey(type as DataType)) ?? "unknown";
      default:
        return "unknown";
    }
  }

  enumType(name: string, base: PrimitiveType, members: readonly (string | undefined)[]): string {
    const listed = members.filter((one) => one !== undefined);
    const values = listed.length === members.length && listed.length > 0 ? [...new Set(listed)] : [PRIMITIVES[base]];
    const line = `export type ${name} = ${values.join(" | ")};\n`;
    return line.length - 1 <= WIDTH ? line : `export type ${name} =\n${values.map((value) => `  | ${value}`).join("\n")};\n`;
  }

  struct(name: string, { fields }: StructType): string {
    const lines = fields.map((field) => member(field.name, orNull(this.typeOf(field.dtype), field.nullable)));
    return block(`export interface ${name}`, lines);
  }

  row(one: FeatureClass): string {
    const lines = one.members.flatMap((feature) =>
      feature.kind === "value"
        ? [
            ...comment(feature.description, "  ", feature.deprecated),
            member(feature.name, orNull(this.typeOf(feature.type), feature.nullable)),
          ]
        : [],
    );
    const head = comment(one.description || `A row of ${one.namespace}.`, "", false);
    return `${head.map((line) => `${line}\n`).join("")}${block(`export interface ${this.classes.get(one)}`, lines)}`;
  }
}

function featuresType({ classes }: FeatureModel, names: Names, depth: number): string {
  const lines: string[] = [];
  for (const one of classes)
    for (const { fqn, many, member: feature, optional } of pathsFrom(one, depth)) {
      if (lines.length >= MOST_PATHS) throw new TooManyPaths(`more than ${MOST_PATHS.toLocaleString("en")} features and paths`);
      const isNullable = optional || (feature.kind === "value" && feature.nullable);
      const own = feature.kind === "value" ? names.typeOf(feature.type) : listOf(names.classes.get(feature.target) as string);
      lines.push(member(fqn, many ? listOf(orNull(own, isNullable)) : orNull(own, isNullable)));
    }
  return `/** The type of each feature by its name; of a relation's features by their path. */\n${block("export type FeaturesType =", lines, ";")}`;
}

function block(head: string, lines: readonly string[], end = ""): string {
  return lines.length === 0 ? `${head} {}${end}\n` : `${head} {\n${lines.join("\n")}\n}${end}\n`;
}

/** A member, broken after its colon where the formatter does. */
function member(name: string, type: string): string {
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name);
  return `  ${key}: ${type};`;
}

function orNull(type: string, nullable: boolean): string {
  return nullable && type !== "unknown" ? `${type} | null` : type;
}

function listOf(element: string): string {
  return / \| [^)]*$/.test(element) ? `(${element})[]` : `${element}[]`;
}

function literalOf(value: unknown): string | undefined {
  if (typeof value === "bigint") return value >= -9007199254740991n && value <= 9007199254740991n ? `${value}` : undefined;
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : undefined;
  if (typeof value === "boolean") return `${value}`;
  return typeof value === "string" ? quoted(value) : undefined;
}

/** A string literal, in the quotes of which it has fewer. */
function quoted(text: string): string {
  const plain = JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  if (text.split('"').length <= text.split("'").length) return plain;
  return `'${plain.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

function comment(text: string, indent: string, deprecated: boolean): string[] {
  const lines = [...commentLines(text), ...(deprecated ? ["@deprecated"] : [])];
  if (lines.length === 0) return [];
  if (lines.length === 1) return [`${indent}/** ${lines[0]} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}
