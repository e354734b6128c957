/** Reading of JSON Schema: the objects and enums of a document, by `$defs` and `definitions`. */

import { pascalCase } from "./identifiers.ts";
import { type FieldType, type MessageDefinition, type MessageField, SchemaError } from "./message-types.ts";

type Schema = Readonly<Record<string, unknown>>;

const DEEPEST = 50;
const MOST_DEFINITIONS = 10_000;

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "datetime",
  date: "date",
  time: "time",
  duration: "timedelta",
  uuid: "UUID",
  binary: "bytes",
  byte: "ProtoBytes",
  decimal: "Decimal",
};

/**
 * The definitions of a document: its own object, named by `title` or as the caller says, and those
 * that it refers to. Throws SchemaError.
 */
export function readJsonSchema(path: string, text: string, name: string): MessageDefinition[] {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new SchemaError(`${path}: ${error instanceof Error ? error.message : "it is no JSON"}`);
  }
  if (!isSchema(document)) throw new SchemaError(`${path}: a JSON Schema is an object`);
  return new SchemaReader(path, document).definitions(name);
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

class SchemaReader {
  readonly #definitions: MessageDefinition[] = [];
  readonly #names = new Set<string>();
  /** Names of what `$ref` means, by the pointer. */
  readonly #refs = new Map<string, FieldType>();

  constructor(
    readonly path: string,
    readonly document: Schema,
  ) {}

  definitions(name: string): MessageDefinition[] {
    const { document } = this;
    for (const group of ["$defs", "definitions"]) {
      const defined = document[group];
      if (isSchema(defined)) for (const key of Object.keys(defined)) this.#reference(`#/${group}/${escaped(key)}`, 0);
    }
    if (document.properties !== undefined || document.type === "object" || document.enum !== undefined)
      this.#type(document, typeof document.title === "string" && document.title !== "" ? document.title : name, 0, true);
    if (this.#definitions.length === 0) throw new SchemaError(`${this.path}: it defines no object: it has neither properties nor $defs`);
    return this.#definitions;
  }

  #unique(wanted: string): string {
    if (this.#names.size >= MOST_DEFINITIONS) throw new SchemaError(`${this.path}: more than ${MOST_DEFINITIONS} definitions`);
    const base = pascalCase(wanted) || "Model";
    let name = base;
    for (let number = 2; this.#names.has(name); number++) name = `${base}${number}`;
    this.#names.add(name);
    return name;
  }

  #reference(pointer: string, depth: number): FieldType {
    const known = this.#refs.get(pointer);
    if (known) return known;
    if (!pointer.startsWith("#")) throw new SchemaError(`${this.path}: it refers to ${pointer}, which is another document`);
    const steps = pointer
      .slice(1)
      .split("/")
      .slice(1)
      .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
    let found: unknown = this.document;
    for (const step of steps) found = isSchema(found) && Object.hasOwn(found, step) ? found[step] : undefined;
    if (!isSchema(found)) throw new SchemaError(`${this.path}: it refers to ${pointer}, which it does not have`);
    const wanted = steps.at(-1) ?? (typeof found.title === "string" ? found.title : "Model");
    if (found.properties !== undefined || found.type === "object" || found.enum !== undefined) {
      const name = this.#unique(wanted);
      const type: FieldType = { kind: "named", name };
      this.#refs.set(pointer, type);
      const own = this.#typeNamed(found, name, depth);
      this.#refs.set(pointer, own);
      return own;
    }
    this.#refs.set(pointer, { kind: "plain", python: "Any" });
    const type = this.#type(found, wanted, depth + 1, false);
    this.#refs.set(pointer, type);
    return type;
  }

  #type(schema: unknown, name: string, depth: number, isRoot: boolean): FieldType {
    if (depth > DEEPEST) throw new SchemaError(`${this.path}: schemas within schemas, more than ${DEEPEST} deep`);
    if (!isSchema(schema)) return { kind: "plain", python: "Any" };
    if (typeof schema.$ref === "string") {
      if (schema.$ref === "#" && !isRoot) return { kind: "plain", python: "Any" };
      return this.#reference(schema.$ref, depth + 1);
    }
    for (const keyword of ["anyOf", "oneOf"]) {
      const choices = schema[keyword];
      if (Array.isArray(choices) && choices.length > 0) return this.#union(choices, name, depth);
    }
    if (Array.isArray(schema.allOf) && schema.allOf.length === 1 && schema.properties === undefined)
      return this.#type(schema.allOf[0], name, depth + 1, false);
    if (Array.isArray(schema.type))
      return this.#union(
        schema.type.map((type) => ({ ...schema, type })),
        name,
        depth,
      );
    if (schema.type === "array") return { kind: "list", item: this.#type(schema.items, `${name}_item`, depth + 1, false) };
    if (isObject(schema) || this.#isEnum(schema)) return this.#typeNamed(schema, this.#unique(name), depth);
    if (schema.type === "object") {
      const value = this.#type(schema.additionalProperties, `${name}_value`, depth + 1, false);
      return { kind: "map", key: { kind: "plain", python: "str" }, value };
    }
    const format = typeof schema.format === "string" ? FORMATS[schema.format] : undefined;
    const types: Readonly<Record<string, string>> = {
      string: format ?? "str",
      integer: "int",
      number: "float",
      boolean: "bool",
      null: "None",
    };
    return { kind: "plain", python: (typeof schema.type === "string" ? types[schema.type] : undefined) ?? "Any" };
  }

  #isEnum({ enum: members }: Schema): boolean {
    const all = Array.isArray(members) ? members : [];
    return all.length > 0 && (all.every((one) => typeof one === "string") || all.every((one) => Number.isInteger(one)));
  }

  #union(choices: readonly unknown[], name: string, depth: number): FieldType {
    const isNull = (choice: unknown): boolean => isSchema(choice) && choice.type === "null";
    const types = choices.filter((choice) => !isNull(choice)).map((choice) => this.#type(choice, name, depth + 1, false));
    const [first = { kind: "plain", python: "None" } as const] = types;
    const of: FieldType = types.length <= 1 ? first : { kind: "union", of: types };
    return choices.some(isNull) ? { kind: "nullable", of } : of;
  }

  /** An object or an enum, whose name was handed out. */
  #typeNamed(schema: Schema, name: string, depth: number): FieldType {
    const description = typeof schema.description === "string" ? schema.description : "";
    if (this.#isEnum(schema)) {
      const members = (schema.enum as (string | number)[]).map((value) => ({
        name: typeof value === "string" ? value : `value_${value}`,
        value,
      }));
      this.#definitions.push({ kind: "enum", name, members, description });
      return { kind: "named", name };
    }
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const fields: MessageField[] = [];
    const at = this.#definitions.length;
    for (const [key, property] of Object.entries(isSchema(schema.properties) ? schema.properties : {})) {
      const type = this.#type(property, `${name}_${key}`, depth + 1, false);
      const text = isSchema(property) && typeof property.description === "string" ? property.description : "";
      fields.push({ name: key, jsonName: undefined, type, presence: required.has(key) ? "required" : "optional", description: text });
    }
    this.#definitions.splice(at, 0, { kind: "message", name, fields, description });
    return { kind: "named", name };
  }
}

function isObject(schema: Schema): boolean {
  return isSchema(schema.properties) && Object.keys(schema.properties).length > 0;
}

function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));
}
