/** Go: a struct for each class, names of features with their types, and a client. */

import { type DataType, type EnumType, PrimitiveType, type StructType } from "../../gen/svc/v1/value_pb.ts";
import { type FeatureClass, type FeatureModel, type Member, typeKey } from "./feature-model.ts";
import client from "./go/client.go" with { type: "text" };
import { Identifiers, pascalCase, spokenName } from "./identifiers.ts";
import { commentLines, generatedHead, originText, withoutBlockComments } from "./mark.ts";

const PRIMITIVES: Readonly<Record<PrimitiveType, string>> = {
  [PrimitiveType.UNSPECIFIED]: "any",
  [PrimitiveType.INT64]: "int64",
  [PrimitiveType.FLOAT64]: "float64",
  [PrimitiveType.STRING]: "string",
  [PrimitiveType.BOOL]: "bool",
  [PrimitiveType.BYTES]: "[]byte",
  [PrimitiveType.DATE]: "Date",
  [PrimitiveType.DATETIME]: "time.Time",
  [PrimitiveType.TIMEDELTA]: "time.Duration",
  [PrimitiveType.DECIMAL]: "Decimal",
  [PrimitiveType.JSON]: "any",
};

/** Words that Go writes in capitals. */
const INITIALISMS = new Set(
  "api ascii cpu css dns eof guid html http https id ip json os pk qps ram rpc sla sql ssh tcp tls ttl udp ui uid uri url utf8 uuid vm xml".split(
    " ",
  ),
);

/**
 * Names of the client's code at the top level, and those of `go/client.go` that are not exported.
 */
const RESERVED = [...client.matchAll(/^(?:func|type|var|const) (\w+)/gm), ...client.matchAll(/^\t(\w+)(?:, \w+)* +(?:=|reflect)/gm)].map(
  ([, name]) => name as string,
);

/** The package's name in a file; undefined when it has none. */
export function goPackageOf(text: string): string | undefined {
  return /^package\s+([\p{L}_][\p{L}\p{N}_]*)/mu.exec(withoutBlockComments(text))?.[1];
}

const KEYWORDS =
  "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var".split(
    " ",
  );

/** Whether a package can have this name. */
export function isGoPackage(name: string): boolean {
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) && !KEYWORDS.includes(name) && name !== "_";
}

/**
 * The file: types and a struct for each class, `Features` with the names of all features, and a
 * client of Go's standard library alone.
 */
export function generateGo(model: FeatureModel, packageName: string): string {
  const file = new GoFile(model);
  const imports = /^import \([\s\S]*?^\)\n/m.exec(client)?.[0] ?? "";
  const rest = client.slice(client.indexOf(imports) + imports.length);
  const parts = [
    ...[...model.types].map(([key, { kind, type }]) => (kind === "enum" ? file.enumType(key, type) : file.struct(key, type))),
    ...model.classes.map((one) => file.featureClass(one)),
    file.allFeatures(model),
  ];
  return `${generatedHead("codegen go", "//", originText(model))}\npackage ${packageName}\n\n${imports}\n${parts.join("\n")}${rest}`;
}

class GoFile {
  readonly #classes: ReadonlyMap<FeatureClass, { readonly row: string; readonly names: string; readonly make: string }>;
  readonly #types: ReadonlyMap<string, string>;
  readonly #constants: Identifiers;

  constructor(model: FeatureModel) {
    const names = new Identifiers([...RESERVED, "Features", "any", "bool", "byte", "error", "float64", "int64", "string", "svcFeature"]);
    this.#constants = names;
    this.#classes = new Map(
      model.classes.map((one) => {
        const row = names.take(exported(one.name), "T");
        return [one, { row, names: names.take(`${row}Features`), make: names.take(`make${row}Features`) }];
      }),
    );
    this.#types = new Map([...model.types].map(([key, { type }]) => [key, names.take(exported(type.name), "T")]));
  }

  #typeOf(type: DataType | undefined, nullable = false): string {
    const text = this.#bareType(type);
    return nullable && !isNilable(text) ? `*${text}` : text;
  }

  #bareType(type: DataType | undefined): string {
    const { kind } = type ?? {};
    switch (kind?.case) {
      case "primitive":
        return PRIMITIVES[kind.value];
      case "list":
        return `[]${this.#typeOf(kind.value.element, kind.value.elementNullable)}`;
      case "struct":
      case "enum":
        return this.#types.get(typeKey(type as DataType)) ?? "any";
      default:
        return "any";
    }
  }

  enumType(key: string, { base, members }: EnumType): string {
    const name = this.#types.get(key) as string;
    const values = members.map(
      (member) => [this.#constants.take(`${name}${exported(member.name)}`), goLiteral(member.value?.kind.value)] as const,
    );
    const head = `// ${name} is one of a few values.\ntype ${name} ${PRIMITIVES[base]}\n`;
    if (values.length === 0 || values.some(([, value]) => value === undefined)) return head;
    const rows = values.map(([constant, value]) => [constant, `${name} = ${value}`]);
    return `${head}\n// Values of ${name}.\nconst (\n${aligned(rows)}\n)\n`;
  }

  struct(key: string, { fields }: StructType): string {
    const names = new Identifiers([]);
    const rows = fields.map(({ dtype, name, nullable }) => [names.take(exported(name), "F"), this.#typeOf(dtype, nullable), tag(name)]);
    const name = this.#types.get(key) as string;
    return `// ${name} is a value of several parts.\ntype ${name} struct {${rows.length === 0 ? "" : `\n${aligned(rows)}\n`}}\n`;
  }

  featureClass(one: FeatureClass): string {
    const { make, names, row } = this.#classes.get(one) as { row: string; names: string; make: string };
    const taken = new Identifiers(["Path"]);
    const members = one.members.map((member) => ({ member, name: taken.take(exported(spokenName(member)), "F") }));
    const values = members.filter(({ member }) => member.kind === "value" || member.many);
    const relations = members.filter(({ member }) => member.kind === "relation");
    const description = commentLines(one.description).map((line) => `//\n// ${line}`.trimEnd());
    const typeOf = (member: Member) => (member.kind === "value" ? this.#typeOf(member.type) : `[]${this.#classes.get(member.target)?.row}`);
    const memberType = (member: Member): string => {
      const type = member.kind === "relation" && !member.many ? (this.#classes.get(member.target)?.row as string) : typeOf(member);
      return isNilable(type) ? type : `*${type}`;
    };
    const parts = [
      [
        `// ${row} is a row of ${one.namespace}; what is not known of it is nil.`,
        ...(description.length > 0
          ? [
              "//",
              description
                .join("\n")
                .replace(/^\/\/\n/, "")
                .replaceAll("//\n", ""),
            ]
          : []),
        `type ${row} struct {`,
        ...grouped(members.map(({ member, name }) => ({ member, cells: [name, memberType(member), tag(member.name)] }))),
        "}",
      ],
      [`func (${row}) svcNamespace() string {`, `\treturn ${goString(one.namespace)}`, "}"],
      [
        `// ${names} are the features of a row of ${one.namespace}.`,
        `type ${names} struct {`,
        ...grouped([
          { cells: ["path", "string"] },
          ...values.map(({ member, name }) => ({ member, cells: [name, `Feature[${typeOf(member)}]`] })),
        ]),
        "}",
      ],
      [
        `func ${make}(path string) ${names} {`,
        `\treturn ${names}{`,
        aligned(
          [
            ["path:", "path,"],
            ...values.map(({ member, name }) => [`${name}:`, `Feature[${typeOf(member)}]{path + ${goString(`.${member.name}`)}},`]),
          ],
          "\t\t",
        ),
        "\t}",
        "}",
      ],
      ...relations.flatMap(({ member, name }) => {
        if (member.kind !== "relation" || member.many) return [];
        const target = this.#classes.get(member.target) as { names: string; make: string };
        return [
          [
            `// ${name} are the features of the row that the relation leads to.`,
            `func (f ${names}) ${name}() ${target.names} {`,
            `\treturn ${target.make}(f.path + ${goString(`.${member.name}`)})`,
            "}",
          ],
        ];
      }),
    ];
    return `${parts.map((lines) => lines.filter((line) => line !== "").join("\n")).join("\n\n")}\n`;
  }

  allFeatures({ classes }: FeatureModel): string {
    const names = classes.map((one) => ({ one, ...(this.#classes.get(one) as { row: string; names: string; make: string }) }));
    const fields = aligned(names.map(({ names: type, row }) => [row, type]));
    const values = aligned(names.map(({ make, one, row }) => [`${row}:`, `${make}(${goString(one.namespace)}),`]));
    const inner = (text: string) => (text === "" ? "" : `\n${text}\n`);
    return `// Features are all features, by class.\nvar Features = struct {${inner(fields)}}{${inner(values)}}\n`;
  }
}

/** Lines of cells in columns, as gofmt aligns them. */
function aligned(rows: readonly (readonly string[])[], indent = "\t"): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, at) =>
    Math.max(0, ...rows.map((row) => (row.length > at + 1 ? widthOf(row[at] as string) : 0))),
  );
  return rows
    .map(
      (row) =>
        indent +
        row.map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(cell.length + (widths[at] as number) - widthOf(cell)))).join(" "),
    )
    .join("\n");
}

function widthOf(text: string): number {
  return [...text].length;
}

/** Members with their comments; a comment ends a group that gofmt aligns. */
function grouped(members: readonly { readonly member?: Member; readonly cells: readonly string[] }[]): string[] {
  const lines: string[] = [];
  let group: (readonly string[])[] = [];
  const flush = (): void => {
    if (group.length > 0) lines.push(aligned(group));
    group = [];
  };
  for (const { cells, member } of members) {
    const comments = commentLines(member?.description ?? "");
    if (member?.deprecated) comments.push(...(comments.length > 0 ? [""] : []), "Deprecated: it should not be used any more.");
    if (comments.length > 0) {
      flush();
      lines.push(...comments.map((line) => `\t// ${line}`.trimEnd()));
    }
    group.push(cells);
  }
  flush();
  return lines;
}

function exported(name: string): string {
  const words = pascalCase(name).split(/(?=\p{Lu})/u);
  return words.map((word) => (INITIALISMS.has(word.toLowerCase()) ? word.toUpperCase() : word)).join("");
}

function isNilable(type: string): boolean {
  return type === "any" || type.startsWith("[]") || type.startsWith("*");
}

function tag(name: string): string {
  return `\`svc:${goString(name)}\``;
}

function goString(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function goLiteral(value: unknown): string | undefined {
  if (typeof value === "bigint" || typeof value === "boolean") return `${value}`;
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : undefined;
  return typeof value === "string" ? goString(value) : undefined;
}
