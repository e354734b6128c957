/** Python: pydantic models (version 2) of the messages of a schema. */

import { Identifiers, pascalCase, snakeCase } from "./identifiers.ts";
import { commentLines, generatedHead } from "./mark.ts";
import type { FieldType, MessageDefinition, MessageEnum, MessageField, MessageType } from "./message-types.ts";
import { docstring, fits, PYTHON_BUILTINS, PYTHON_KEYWORDS, pythonCall, pythonImport, pythonString } from "./python-text.ts";

/** Modules of the names that a file may use. */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  base64: ["b64decode"],
  datetime: ["date", "datetime", "time", "timedelta"],
  decimal: ["Decimal"],
  enum: ["Enum", "IntEnum"],
  typing: ["Annotated", "Any"],
  uuid: ["UUID"],
  pydantic: ["AliasChoices", "BaseModel", "BeforeValidator", "ConfigDict", "Field"],
};

/** Members of BaseModel, which no field can have as its name. */
const MODEL_MEMBERS =
  "construct copy dict from_orm json model_computed_fields model_config model_construct model_copy model_dump model_dump_json model_extra model_fields model_fields_set model_json_schema model_parametrized_name model_post_init model_rebuild model_validate model_validate_json model_validate_strings parse_file parse_obj parse_raw schema schema_json update_forward_refs validate".split(
    " ",
  );

/** Types whose values JSON has in a form of its own, by name: how a text is read, and into what. */
const READ_TEXTS: Readonly<Record<string, { readonly type: string; readonly uses: readonly string[]; readonly lines: readonly string[] }>> =
  {
    ProtoBytes: {
      type: "bytes",
      uses: ["b64decode"],
      lines: [
        "def _bytes(value: object) -> object:",
        '    """The bytes of a text in base64."""',
        "    return b64decode(value) if isinstance(value, str) else value",
      ],
    },
    ProtoDuration: {
      type: "timedelta",
      uses: ["timedelta"],
      lines: [
        "def _duration(value: object) -> object:",
        '    """The seconds of a text such as "1.5s"."""',
        '    if isinstance(value, str) and value.endswith("s"):',
        "        return float(value[:-1])",
        "    return value",
      ],
    },
  };

/**
 * The file: an enum or a model for each definition. A model takes the names of the schema and those
 * of its JSON, and ignores others.
 */
export function generatePydantic(definitions: readonly MessageDefinition[], origin: string): string {
  const file = new PydanticFile(definitions);
  const enums = definitions.flatMap((one) => (one.kind === "enum" ? [file.enumClass(one)] : []));
  const models = definitions.flatMap((one) => (one.kind === "message" ? [file.model(one)] : []));
  const body = [...enums, ...models].map((part) => `\n\n${part}\n`).join("");
  const texts = Object.entries(READ_TEXTS).flatMap(([name, { lines, type }]) =>
    file.uses(name)
      ? [`\n\n${lines.join("\n")}\n\n\n${name} = Annotated[${type}, BeforeValidator(${lines[0]?.slice("def ".length).split("(")[0]})]\n`]
      : [],
  );
  const head = `${generatedHead("codegen pydantic", "#", `Messages of ${origin}.`)}\nfrom __future__ import annotations\n`;
  return `${head}\n${file.imports()}\n${texts.join("")}${body}`;
}

class PydanticFile {
  readonly #used = new Set<string>();
  readonly #names: ReadonlyMap<string, string>;
  readonly #enums: ReadonlyMap<string, MessageEnum>;

  constructor(definitions: readonly MessageDefinition[]) {
    const names = new Identifiers([
      ...PYTHON_KEYWORDS,
      ...PYTHON_BUILTINS,
      "annotations",
      "ProtoDuration",
      ...Object.values(MODULES).flat(),
    ]);
    const scope = commonScope(definitions.map(({ name }) => name));
    this.#names = new Map(definitions.map(({ name }) => [name, names.take(pascalName(name.slice(scope)))]));
    this.#enums = new Map(definitions.flatMap((one) => (one.kind === "enum" ? [[one.name, one]] : [])));
  }

  #use(name: string): string {
    this.#used.add(name);
    return name;
  }

  /** Whether a name is used. */
  uses(name: string): boolean {
    return this.#used.has(name);
  }

  imports(): string {
    const lines = Object.entries(MODULES).flatMap(([module, names]) => {
      const used = names.filter((name) => this.#used.has(name));
      return used.length === 0 ? [] : [`${module === "pydantic" ? "\n" : ""}${pythonImport(module, used)}`];
    });
    return lines.join("\n").replace(/^\n/, "");
  }

  #typeOf(type: FieldType): string {
    switch (type.kind) {
      case "plain": {
        const text = READ_TEXTS[type.python];
        if (text) for (const name of ["Annotated", "BeforeValidator", ...text.uses]) this.#use(name);
        return PYTHON_BUILTINS.includes(type.python) || type.python === "None" ? type.python : this.#use(type.python);
      }
      case "named":
        return this.#names.get(type.name) ?? this.#use("Any");
      case "list":
        return `list[${this.#typeOf(type.item)}]`;
      case "map":
        return `dict[${this.#typeOf(type.key)}, ${this.#typeOf(type.value)}]`;
      case "nullable":
        return orNone(this.#typeOf(type.of));
      case "union":
        return [...new Set(type.of.map((one) => this.#typeOf(one)))].join(" | ");
    }
  }

  enumClass(one: MessageEnum): string {
    const { description, members, name } = one;
    const isText = members.some(({ value }) => typeof value === "string");
    const own = this.#names.get(name) as string;
    const lines = enumMembers(one).map((member, at) => `    ${member} = ${literal(members[at]?.value ?? "")}`);
    const doc = commentLines(description);
    const head = isText ? `class ${own}(str, ${this.#use("Enum")}):` : `class ${own}(${this.#use("IntEnum")}):`;
    const missing = isText
      ? []
      : [
          "",
          "    @classmethod",
          "    def _missing_(cls, value: object) -> object:",
          "        return cls.__members__.get(value) if isinstance(value, str) else None",
        ];
    return [head, ...(doc.length > 0 ? [docstring(doc, "    "), ""] : []), ...(lines.length > 0 ? lines : ["    pass"]), ...missing].join(
      "\n",
    );
  }

  model({ description, fields, name }: MessageType): string {
    this.#use("BaseModel");
    const types = fields.map((field) => (field.presence === "optional" ? orNone(this.#typeOf(field.type)) : this.#typeOf(field.type)));
    // A field that is called as a type of the class would hide it.
    const words = types.flatMap((type) => type.match(/\w+/g) ?? []);
    const names = new Identifiers([...PYTHON_KEYWORDS, ...MODEL_MEMBERS, ...words, "Field", "AliasChoices"]);
    const doc = commentLines(description);
    const lines = fields.flatMap((field, at) => [
      ...commentLines(field.description).map((line) => `    # ${line}`.trimEnd()),
      this.#field(names.take(attributeName(field.name), "f_"), types[at] as string, field),
    ]);
    const config = fields.some((field) => field.name.startsWith("model_"))
      ? [`    model_config = ${this.#use("ConfigDict")}(protected_namespaces=())`, ""]
      : [];
    return [
      `class ${this.#names.get(name)}(BaseModel):`,
      ...(doc.length > 0 ? [docstring(doc, "    "), ""] : []),
      ...config,
      ...(lines.length > 0 ? lines : ["    pass"]),
    ].join("\n");
  }

  #field(attribute: string, type: string, field: MessageField): string {
    const aliases = [...new Set([attribute, field.name, ...(field.jsonName === undefined ? [] : [field.jsonName])])];
    const options: string[] = [];
    if (field.presence === "optional") options.push("default=None");
    else if (field.presence === "zero") options.push(this.#zero(field.type));
    if (aliases.length > 1) {
      const line = pythonCall(`validation_alias=${this.#use("AliasChoices")}(`, aliases.map(pythonString), ")", "        ", ",");
      options.push(line.trimStart());
    }
    if (attribute !== field.name) options.push(`serialization_alias=${pythonString(field.name)}`);
    const isWide = !fits(`    ${attribute}: ${type} = Field(`) && type.endsWith(" | None");
    const head = isWide ? `${attribute}: (\n        ${type}\n    )` : `${attribute}: ${type}`;
    const [only = ""] = options;
    if (options.length === 0) return `    ${head}`;
    if (options.length === 1 && only.startsWith("default=")) return `    ${head} = ${only.slice("default=".length)}`;
    this.#use("Field");
    return pythonCall(`${head} = Field(`, options, ")", "    ");
  }

  /** The option that gives a field the empty value of its type. */
  #zero(type: FieldType): string {
    if (type.kind === "list") return "default_factory=list";
    if (type.kind === "map") return "default_factory=dict";
    const own = type.kind === "named" ? this.#enums.get(type.name) : undefined;
    const at = own?.members.findIndex(({ value }) => value === 0) ?? -1;
    if (own && at >= 0) return `default=${this.#names.get(own.name)}.${enumMembers(own)[at]}`;
    return `default=${(type.kind === "plain" ? ZEROS[type.python] : undefined) ?? "None"}`;
  }
}

const ZEROS: Readonly<Record<string, string>> = { int: "0", float: "0.0", str: '""', bool: "False", ProtoBytes: 'b""' };

/** The names of an enum's members in Python. */
function enumMembers({ members }: MessageEnum): string[] {
  const names = new Identifiers([...PYTHON_KEYWORDS, "mro", "name", "value"]);
  return members.map((member) => names.take(memberName(member.name), "M"));
}

function orNone(type: string): string {
  return type === "Any" || type === "None" || type.endsWith("| None") ? type : `${type} | None`;
}

function literal(value: number | string): string {
  return typeof value === "string" ? pythonString(value) : `${value}`;
}

function attributeName(name: string): string {
  const own = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : snakeCase(name);
  return own.replace(/^_+/, "");
}

function memberName(name: string): string {
  const own = name.replace(/[^\p{L}\p{N}_]+/gu, "_").replace(/^_+/, "");
  return own === "" ? "EMPTY" : own;
}

function pascalName(name: string): string {
  return name
    .split(".")
    .filter((part) => part !== "")
    .map((part) => (/^[A-Z]\w*$/.test(part) ? part : pascalCase(part)))
    .join("");
}

/** The length of the package that all names begin with. */
function commonScope(names: readonly string[]): number {
  const scopes = names.map((name) =>
    name
      .split(".")
      .filter((part, at, all) => at < all.length - 1 && /^[a-z]/.test(part))
      .join("."),
  );
  const [first = ""] = scopes;
  let common = first;
  while (common !== "" && !scopes.every((scope) => scope === common || scope.startsWith(`${common}.`)))
    common = common.slice(0, Math.max(0, common.lastIndexOf(".")));
  return common === "" ? 0 : common.length + 1;
}
