/** Python: definitions of features with which `SvcClient` names what it asks for. */

import { VectorMetric } from "../../gen/svc/v1/graph_pb.ts";
import { type DataType, type EnumType, PrimitiveType, type StructType } from "../../gen/svc/v1/value_pb.ts";
import { namespaceOf } from "../domain/name.ts";
import { VECTOR_PRECISIONS } from "../domain/value.ts";
import { type FeatureClass, type FeatureModel, type RelationMember, typeKey, type ValueMember } from "./feature-model.ts";
import { Identifiers, snakeCase, windowText } from "./identifiers.ts";
import { commentLines, generatedHead, originText } from "./mark.ts";
import { docstring, fits, PYTHON_BUILTINS, PYTHON_KEYWORDS, pythonCall, pythonImport, pythonLiteral, pythonString } from "./python-text.ts";

const PRIMITIVES: Readonly<Record<PrimitiveType, readonly [python: string, dtype: string]>> = {
  [PrimitiveType.UNSPECIFIED]: ["Any", "unknown"],
  [PrimitiveType.INT64]: ["int", "int64"],
  [PrimitiveType.FLOAT64]: ["float", "float64"],
  [PrimitiveType.STRING]: ["str", "string"],
  [PrimitiveType.BOOL]: ["bool", "bool"],
  [PrimitiveType.BYTES]: ["bytes", "bytes"],
  [PrimitiveType.DATE]: ["date", "date"],
  [PrimitiveType.DATETIME]: ["datetime", "timestamp"],
  [PrimitiveType.TIMEDELTA]: ["timedelta", "duration"],
  [PrimitiveType.DECIMAL]: ["Decimal", "decimal"],
  [PrimitiveType.JSON]: ["Any", "json"],
};

/** Metrics of vectors as `is_near` takes them; cosine need not be said. */
const METRICS: Readonly<Partial<Record<VectorMetric, string>>> = { [VectorMetric.L2]: "l2", [VectorMetric.DOT]: "dot" };

/** Modules of the names that a file may use. */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  dataclasses: ["dataclass"],
  datetime: ["date", "datetime", "timedelta"],
  decimal: ["Decimal"],
  enum: ["Enum"],
  typing: ["Annotated", "Any"],
  "svc.features": ["DataFrame", "FeatureTime", "Primary", "Vector", "Windowed", "feature", "features", "has_many", "has_one", "windowed"],
};

/** What of a definition the file says beside names and types. */
export interface PythonOptions {
  /** Whether each feature states the platform's type: `Annotated[int, "int64"]`. */
  readonly dtypes: boolean;
}

/**
 * The file: an enum or a dataclass for each such type, and a feature class for each class, with
 * types, windows, versions and relations, but without what computes anything.
 */
export function generatePython(model: FeatureModel, options: PythonOptions): string {
  const file = new PythonFile(model, options);
  const parts = [
    ...[...model.types].map(([key, { kind, type }]) => (kind === "enum" ? file.enumClass(key, type) : file.dataclass(key, type))),
    ...model.classes.map((one) => file.featureClass(one)),
  ];
  const head = `${generatedHead("codegen python", "#", originText(model))}\nfrom __future__ import annotations\n`;
  const imports = file.imports();
  return `${head}${imports === "" ? "" : `\n${imports}\n`}${parts.map((part) => `\n\n${part}\n`).join("")}`;
}

class PythonFile {
  readonly #used = new Set<string>();
  readonly #classes: ReadonlyMap<FeatureClass, string>;
  readonly #types: ReadonlyMap<string, string>;
  readonly #attributes = new Map<string, string>();

  constructor(
    model: FeatureModel,
    readonly options: PythonOptions,
  ) {
    const names = new Identifiers([...PYTHON_KEYWORDS, ...PYTHON_BUILTINS, "annotations", ...Object.values(MODULES).flat()]);
    this.#classes = new Map(model.classes.map((one) => [one, names.take(pythonName(one.name))]));
    this.#types = new Map([...model.types].map(([key, { type }]) => [key, names.take(pythonName(type.name))]));
    for (const one of model.classes) this.#nameAttributes(one);
  }

  #nameAttributes({ members, namespace }: FeatureClass): void {
    const names = new Identifiers(PYTHON_KEYWORDS);
    for (const member of members) {
      const name = memberName(member);
      const known = this.#attributes.get(`${namespace}.${name}`);
      const attribute = known ?? names.take(isAttribute(name) ? name : snakeCase(name).replace(/^_+/, ""), "f_");
      this.#attributes.set(`${namespace}.${name}`, attribute);
      this.#attributes.set(member.fqn, attribute);
    }
  }

  /** A name that the file imports. */
  #use(name: string): string {
    this.#used.add(name);
    return name;
  }

  imports(): string {
    const lines = Object.entries(MODULES).flatMap(([module, names]) => {
      const used = names.filter((name) => this.#used.has(name));
      return used.length === 0 ? [] : [`${module === "svc.features" ? "\n" : ""}${pythonImport(module, used)}`];
    });
    return lines.join("\n").replace(/^\n/, "");
  }

  #typeOf(type: DataType | undefined, nullable: boolean): string {
    const text = this.#bareType(type);
    return nullable && text !== "Any" ? `${text} | None` : text;
  }

  #bareType(type: DataType | undefined): string {
    const { kind } = type ?? {};
    switch (kind?.case) {
      case "primitive": {
        const [name] = PRIMITIVES[kind.value];
        return PYTHON_BUILTINS.includes(name) ? name : this.#use(name);
      }
      case "list": {
        const { element, elementNullable, set, vector } = kind.value;
        if (!vector) return `${set ? "set" : "list"}[${this.#typeOf(element, elementNullable)}]`;
        const stated = [pythonString(VECTOR_PRECISIONS[vector.precision]), ...(vector.size > 0 ? [`${vector.size}`] : [])];
        return `${this.#use("Vector")}[${stated.join(", ")}]`;
      }
      case "struct":
      case "enum":
        return this.#types.get(typeKey(type as DataType)) ?? this.#use("Any");
      default:
        return this.#use("Any");
    }
  }

  enumClass(key: string, { base, members }: EnumType): string {
    const name = this.#types.get(key) as string;
    const values = members.map((member) => [member.name, pythonLiteral(member.value)] as const);
    for (const [, value] of values) if (value && /^(Decimal|date)\(/.test(value)) this.#use(value.slice(0, value.indexOf("(")));
    if (values.length === 0 || values.some(([, value]) => value === undefined))
      return `${name} = ${this.#bareType({ $typeName: "svc.v1.DataType", kind: { case: "primitive", value: base } })}`;
    const names = new Identifiers([...PYTHON_KEYWORDS, "mro", "name", "value"]);
    const lines = values.map(([member, value]) => `    ${names.take(pythonName(member), "M")} = ${value}`);
    return [`class ${name}(${this.#use("Enum")}):`, ...lines].join("\n");
  }

  dataclass(key: string, { fields }: StructType): string {
    const lines = fields.map(({ dtype, name, nullable }) => `    ${name}: ${this.#typeOf(dtype, nullable)}`);
    return [`@${this.#use("dataclass")}`, `class ${this.#types.get(key)}:`, ...(lines.length > 0 ? lines : ["    pass"])].join("\n");
  }

  featureClass(one: FeatureClass): string {
    const name = this.#classes.get(one) as string;
    const options = namespaceOf(name) === one.namespace ? "" : `(name=${pythonString(one.namespace)})`;
    const written = new Set<string>();
    const lines = one.members.flatMap((member) => {
      const own = memberName(member);
      if (written.has(own)) return [];
      written.add(own);
      const siblings = one.members.filter((other): other is ValueMember => other.kind === "value" && memberName(other) === own);
      const comments = commentLines(member.description).map((line) => `    # ${line}`.trimEnd());
      return [...comments, member.kind === "value" ? this.#value(member, siblings) : this.#relation(member)];
    });
    const doc = commentLines(one.description);
    return [
      `@${this.#use("features")}${options}`,
      `class ${name}:`,
      ...(doc.length > 0 ? [docstring(doc, "    "), ""] : []),
      ...(lines.length > 0 ? lines : ["    pass"]),
    ].join("\n");
  }

  #value(member: ValueMember, siblings: readonly ValueMember[]): string {
    const name = memberName(member);
    const attribute = this.#attributes.get(member.fqn) as string;
    const named = attribute === name ? [] : [`name=${pythonString(name)}`];
    const type = this.#annotation(member);
    if (member.window) {
      const windows = siblings.map(({ window }) => pythonString(windowText(window?.seconds ?? 0)));
      this.#use("windowed");
      return pythonCall(`${attribute}: ${this.#use("Windowed")}[${type}] = windowed(`, [...windows, ...named], ")", "    ");
    }
    const { version } = member;
    const versions = version
      ? [`version=${siblings.length}`, ...(version.default === 1 ? [] : [`default_version=${version.default}`])]
      : [];
    const options = [...(member.isPrimary && (name !== "id" || attribute !== "id") ? ["primary=True"] : []), ...named, ...versions];
    if (options.length === 0) {
      const line = `    ${attribute}: ${type}`;
      const inside = /^Annotated\[(.*), (".*")\]$/.exec(type);
      const written = inside && !fits(line) ? pythonCall(`${attribute}: Annotated[`, inside.slice(1), "]", "    ") : line;
      return `${written}${isVector(member.type) ? IGNORED : ""}`;
    }
    this.#use("feature");
    return pythonCall(`${attribute}: ${type} = feature(`, options, ")", "    ");
  }

  #annotation(member: ValueMember): string {
    if (member.isTime && !member.nullable && !this.options.dtypes) return this.#use("FeatureTime");
    const type = this.#typeOf(member.type, member.nullable);
    if (!this.options.dtypes) return type;
    const core = member.isTime ? this.#use("FeatureTime") : type;
    return `${this.#use("Annotated")}[${core}, ${pythonString(dtypeText(member.type))}]`;
  }

  /** `Airport.id` of the FQN of a feature of this file. */
  #reference(fqn: string): string | undefined {
    const attribute = this.#attributes.get(fqn);
    const owner = [...this.#classes].find(([{ namespace }]) => namespace === fqn.split(".")[0]);
    return attribute === undefined || !owner ? undefined : `${owner[1]}.${attribute}`;
  }

  #relation(member: RelationMember): string {
    const target = this.#classes.get(member.target) as string;
    const attribute = this.#attributes.get(member.fqn) as string;
    const pairs = (member.nearest ? member.nearest.equal : member.join).map(
      ({ foreign, local }) => `${this.#reference(local)} == ${this.#reference(foreign)}`,
    );
    const conditions = [...this.#nearest(member), ...pairs];
    const parts = conditions.length === 1 ? conditions : conditions.map((text) => (text.includes("==") ? `(${text})` : text));
    const type = member.many ? `${this.#use("DataFrame")}[${target}]` : member.optional ? `${target} | None` : target;
    const head = `    ${attribute}: ${type} = ${this.#use(member.many ? "has_many" : "has_one")}(`;
    const join = `lambda: ${parts.join(" & ")}`;
    const ignored = member.nearest ? IGNORED : "";
    if (fits(`${head}${join})`)) return `${head}${join})${ignored}`;
    const inner = `        ${join}`;
    return `${head}\n${fits(inner) ? inner : `        lambda: ${parts.join("\n        & ")}`}${ignored}\n    )`;
  }

  /** The part of a join that chooses the nearest rows. */
  #nearest({ nearest }: RelationMember): string[] {
    if (!nearest) return [];
    const metric = METRICS[nearest.metric];
    const options = [
      `k=${nearest.limit}`,
      ...(metric === undefined ? [] : [`metric="${metric}"`]),
      ...(nearest.distance === "" ? [] : [`distance=${this.#reference(nearest.distance)}`]),
    ];
    return [`${this.#reference(nearest.local)}.is_near(${[this.#reference(nearest.foreign), ...options].join(", ")})`];
  }
}

/** Said of what type checkers cannot know: numbers in annotations, and methods of vectors. */
const IGNORED = "  # type: ignore";

function isVector({ kind }: DataType): boolean {
  return kind.case === "list" && kind.value.vector !== undefined;
}

/** The name of what one definition gives, without window and version. */
function memberName(member: ValueMember | RelationMember): string {
  return member.kind === "value" ? (member.window?.base ?? member.version?.base ?? member.name) : member.name;
}

function isAttribute(name: string): boolean {
  return /^[\p{L}][\p{L}\p{N}_]*$/u.test(name);
}

function pythonName(name: string): string {
  return name.replace(/[^\p{L}\p{N}_]/gu, "_").replace(/^_+/, "") || "_";
}

/** The platform's type as text: `int64`, `list[string]`, `struct[Address]`. */
function dtypeText({ kind }: DataType): string {
  switch (kind.case) {
    case "primitive":
      return PRIMITIVES[kind.value][1];
    case "enum":
      return PRIMITIVES[kind.value.base][1];
    case "list": {
      const { element, set, vector } = kind.value;
      if (vector) return `vector[${[VECTOR_PRECISIONS[vector.precision], ...(vector.size > 0 ? [vector.size] : [])].join(", ")}]`;
      return `${set ? "set" : "list"}[${element ? dtypeText(element) : "unknown"}]`;
    }
    case "struct":
      return `struct[${kind.value.name}]`;
    default:
      return "unknown";
  }
}
