/** Java: a class for each feature class, struct and enum, and a client without dependencies. */

import { type DataType, type EnumType, PrimitiveType, type StructType } from "../../gen/svc/v1/value_pb.ts";
import { type FeatureClass, type FeatureModel, type Member, typeKey } from "./feature-model.ts";
import { camelCase, Identifiers, pascalCase, screamingCase, snakeCase, spokenName } from "./identifiers.ts";
import featureFile from "./java/Feature.java" with { type: "text" };
import clientFile from "./java/SvcClient.java" with { type: "text" };
import enumFile from "./java/SvcEnum.java" with { type: "text" };
import exceptionFile from "./java/SvcException.java" with { type: "text" };
import jsonFile from "./java/SvcJson.java" with { type: "text" };
import nameFile from "./java/SvcName.java" with { type: "text" };
import { commentLines, generatedHead, originText, withoutBlockComments } from "./mark.ts";

/** How members are named. */
export type JavaNaming = "camel" | "snake";

/** A file of the package, by its name. */
export interface JavaFile {
  readonly name: string;
  readonly text: string;
}

const RUNTIME: Readonly<Record<string, string>> = {
  "Feature.java": featureFile,
  "SvcClient.java": clientFile,
  "SvcEnum.java": enumFile,
  "SvcException.java": exceptionFile,
  "SvcJson.java": jsonFile,
  "SvcName.java": nameFile,
};

const PRIMITIVES: Readonly<Record<PrimitiveType, string>> = {
  [PrimitiveType.UNSPECIFIED]: "Object",
  [PrimitiveType.INT64]: "Long",
  [PrimitiveType.FLOAT64]: "Double",
  [PrimitiveType.STRING]: "String",
  [PrimitiveType.BOOL]: "Boolean",
  [PrimitiveType.BYTES]: "byte[]",
  [PrimitiveType.DATE]: "LocalDate",
  [PrimitiveType.DATETIME]: "Instant",
  [PrimitiveType.TIMEDELTA]: "Duration",
  [PrimitiveType.DECIMAL]: "BigDecimal",
  [PrimitiveType.JSON]: "Object",
};

/** Packages of the types that a file may import. */
const PACKAGES: Readonly<Record<string, string>> = {
  BigDecimal: "java.math",
  Duration: "java.time",
  Instant: "java.time",
  LocalDate: "java.time",
  List: "java.util",
  Set: "java.util",
};

const KEYWORDS =
  "abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float for goto if implements import instanceof int interface long native new null package private protected public return short static strictfp super switch synchronized this throw throws transient true try void volatile while _".split(
    " ",
  );
/** Methods without parameters that every object has, and what the generated classes have. */
const OBJECT_METHODS = "clone finalize getClass hashCode notify notifyAll toString wait path FEATURES".split(" ");
const RESERVED_TYPES = [
  ...Object.keys(PACKAGES),
  ..."Boolean Class Deprecated Double Enum Exception Features Integer Iterable Long Math Number Object Override Record RuntimeException String System Thread Throwable Void".split(
    " ",
  ),
  ...Object.keys(RUNTIME).map((file) => file.replace(".java", "")),
];

/** The package of a file; undefined when it has none. */
export function javaPackageOf(text: string): string | undefined {
  return /^[ \t]*package[ \t]+([\w.]+)[ \t]*;/m.exec(withoutBlockComments(text))?.[1];
}

/** Whether a package can have this name. */
export function isJavaPackage(name: string): boolean {
  return name.split(".").every((part) => /^[A-Za-z_$][\w$]*$/.test(part) && !KEYWORDS.includes(part));
}

/** The files, by name. Their names differ by more than case. */
export function generateJava(model: FeatureModel, packageName: string, naming: JavaNaming): JavaFile[] {
  const names = new Identifiers(RESERVED_TYPES, { ignoreCase: true });
  const writer = new JavaWriter(
    new Map(model.classes.map((one) => [one, names.take(pascalCase(one.name), "T")])),
    new Map([...model.types].map(([key, { type }]) => [key, names.take(pascalCase(type.name), "T")])),
    naming,
  );
  const head = generatedHead("codegen java", "//", originText(model));
  const own = [
    ...[...model.types].flatMap(([key, { kind, type }]) =>
      kind === "struct" ? [writer.struct(key, type)] : isConstant(type) ? [writer.enumType(key, type)] : [],
    ),
    ...model.classes.map((one) => writer.featureClass(one)),
  ].map(({ imports, name, text }) => {
    const lines = [...imports].sort().map((one) => `import ${one};\n`);
    return { name: `${name}.java`, text: `${head}\npackage ${packageName};\n\n${lines.join("")}${lines.length > 0 ? "\n" : ""}${text}` };
  });
  const runtime = Object.entries(RUNTIME).map(([name, text]) => ({
    name,
    text: `${generatedHead("codegen java", "//", "")}\n${text.replace(/^package features;/, `package ${packageName};`)}`,
  }));
  return [...own, ...runtime].sort((a, b) => (a.name < b.name ? -1 : 1));
}

interface Unit {
  readonly name: string;
  readonly text: string;
  /** Qualified names. */
  readonly imports: ReadonlySet<string>;
}

class JavaWriter {
  constructor(
    readonly classes: ReadonlyMap<FeatureClass, string>,
    readonly types: ReadonlyMap<string, string>,
    readonly naming: JavaNaming,
  ) {}

  #member(name: string): string {
    return this.naming === "camel" ? camelCase(name) : snakeCase(name);
  }

  #typeOf(type: DataType | undefined, imports: Set<string>): string {
    const use = (name: string): string => {
      const from = PACKAGES[name];
      if (from !== undefined) imports.add(`${from}.${name}`);
      return name;
    };
    const { kind } = type ?? {};
    switch (kind?.case) {
      case "primitive":
        return use(PRIMITIVES[kind.value]);
      case "list":
        return `${use(kind.value.set ? "Set" : "List")}<${this.#typeOf(kind.value.element, imports)}>`;
      case "struct":
        return this.types.get(typeKey(type as DataType)) ?? "Object";
      case "enum":
        return isConstant(kind.value) ? (this.types.get(typeKey(type as DataType)) ?? "Object") : use(PRIMITIVES[kind.value.base]);
      default:
        return "Object";
    }
  }

  enumType(key: string, type: EnumType): Unit {
    const name = this.types.get(key) as string;
    const taken = new Identifiers(KEYWORDS);
    const constants = type.members.map(
      (member) => `  ${taken.take(screamingCase(member.name), "M_")}(${literal(member.value?.kind.value)})`,
    );
    const text = [
      "/** One of a few values. */",
      `public enum ${name} implements SvcEnum {`,
      `${constants.join(",\n")};`,
      "",
      "  private final Object value;",
      "",
      `  ${name}(Object value) {`,
      "    this.value = value;",
      "  }",
      "",
      "  @Override",
      "  public Object value() {",
      "    return value;",
      "  }",
      "}",
    ];
    return { name, imports: new Set(), text: `${text.join("\n")}\n` };
  }

  struct(key: string, { fields }: StructType): Unit {
    const name = this.types.get(key) as string;
    const imports = new Set<string>();
    const taken = new Identifiers(KEYWORDS);
    const members = fields.map(
      (field) =>
        `  @SvcName(${javaString(field.name)})\n  public ${this.#typeOf(field.dtype, imports)} ${taken.take(this.#member(field.name), "f")};`,
    );
    return { name, imports, text: `/** A value of several parts. */\npublic final class ${name} {${body(members)}}\n` };
  }

  featureClass(one: FeatureClass): Unit {
    const name = this.classes.get(one) as string;
    const imports = new Set<string>();
    const taken = new Identifiers([...KEYWORDS, ...OBJECT_METHODS]);
    const members = one.members.map((member) => ({ member, name: taken.take(this.#member(spokenName(member)), "f") }));
    const typeOf = (member: Member): string => {
      if (member.kind === "value") return this.#typeOf(member.type, imports);
      const target = this.classes.get(member.target) as string;
      if (!member.many) return target;
      imports.add("java.util.List");
      return `List<${target}>`;
    };
    const fields = members.map(({ member, name: field }) =>
      [
        ...javadoc(commentLines(member.description), "  ", member.deprecated),
        `  @SvcName(${javaString(member.name)})`,
        ...(member.deprecated ? ["  @Deprecated"] : []),
        `  public ${typeOf(member)} ${field};`,
      ].join("\n"),
    );
    const methods = members.map(({ member, name: method }) => {
      if (member.kind === "relation" && !member.many) {
        const target = `${this.classes.get(member.target)}.Features`;
        return [
          "/** The features of the row that the relation leads to. */",
          `public ${target} ${method}() {`,
          `  return new ${target}(path + ${javaString(`.${member.name}`)});`,
          "}",
        ];
      }
      const line = `  return new Feature<>(path + ${javaString(`.${member.name}`)}, ${name}.class, ${javaString(method)});`;
      return [...(member.deprecated ? ["@Deprecated"] : []), `public Feature<${typeOf(member)}> ${method}() {`, line, "}"];
    });
    const description = commentLines(one.description);
    const text = [
      ...javadoc(
        [`A row of ${one.namespace}; what is not known of it is null.`, ...(description.length > 0 ? ["", ...description] : [])],
        "",
        false,
      ),
      `@SvcName(${javaString(one.namespace)})`,
      `public final class ${name} {`,
      `  /** The features of a row of ${one.namespace}. */`,
      `  public static final Features FEATURES = new Features(${javaString(one.namespace)});`,
      ...fields.map((field) => `\n${field}`),
      "",
      "  /** The features of a row, by which queries ask for them. */",
      "  public static final class Features {",
      "    private final String path;",
      "",
      "    Features(String path) {",
      "      this.path = path;",
      "    }",
      ...methods.map((lines) => `\n${lines.map((line) => `    ${line}`).join("\n")}`),
      "  }",
      "}",
    ];
    return { name, imports, text: `${text.join("\n")}\n` };
  }
}

function body(members: readonly string[]): string {
  return members.length === 0 ? "" : `\n${members.join("\n\n")}\n`;
}

function javadoc(lines: readonly string[], indent: string, deprecated: boolean): string[] {
  const safe = lines.map((line) =>
    line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("@", "&#64;").replaceAll("\\u", "&#92;u"),
  );
  const all = [...safe, ...(deprecated ? ["@deprecated It should not be used any more."] : [])];
  if (all.length === 0) return [];
  if (all.length === 1) return [`${indent}/** ${all[0]} */`];
  return [`${indent}/**`, ...all.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}

function isConstant({ members }: EnumType): boolean {
  return members.length > 0 && members.every(({ value }) => literal(value?.kind.value) !== undefined);
}

function literal(value: unknown): string | undefined {
  if (typeof value === "bigint") return `${value}L`;
  if (typeof value === "number") return Number.isFinite(value) ? `${value}d` : undefined;
  if (typeof value === "boolean") return `${value}`;
  return typeof value === "string" ? javaString(value) : undefined;
}

function javaString(text: string): string {
  return JSON.stringify(text).replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
