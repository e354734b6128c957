/** Reading of the schema of a table of Arrow: a file or a stream of its IPC format. */

import { FlatTable } from "../domain/arrow/flat-table.ts";
import { CONTINUATION, Header, Type } from "../domain/arrow/format.ts";
import { pascalCase } from "./identifiers.ts";
import { type FieldType, type MessageDefinition, type MessageField, SchemaError } from "./message-types.ts";

/** What a file of the IPC format begins with, before the stream in it. */
const MAGIC = "ARROW1\0\0";
/** Most columns, with those inside of structs and lists; levels of these; and bytes of a name. */
const MOST_FIELDS = 10_000;
const DEEPEST = 50;
const MOST_NAME_BYTES = 4_096;

const PLAIN: Readonly<Record<number, string>> = {
  [Type.NULL]: "None",
  [Type.INT]: "int",
  [Type.FLOAT]: "float",
  [Type.BINARY]: "bytes",
  [Type.UTF8]: "str",
  [Type.BOOL]: "bool",
  [Type.DECIMAL]: "Decimal",
  [Type.DATE]: "date",
  [Type.TIME]: "time",
  [Type.TIMESTAMP]: "datetime",
  [Type.FIXED_BINARY]: "bytes",
  [Type.DURATION]: "timedelta",
  [Type.LARGE_BINARY]: "bytes",
  [Type.LARGE_UTF8]: "str",
  [Type.BINARY_VIEW]: "bytes",
  [Type.UTF8_VIEW]: "str",
};
const LISTS: ReadonlySet<number> = new Set([Type.LIST, Type.FIXED_LIST, Type.LARGE_LIST, Type.LIST_VIEW, Type.LARGE_LIST_VIEW]);

/**
 * The definitions of a schema: a message of its columns, of the given name, and one for each struct
 * in it. Throws SchemaError.
 * @param bytes the beginning of the file; its rows are not read
 */
export function readArrowSchema(path: string, bytes: Uint8Array, name: string): MessageDefinition[] {
  try {
    return new SchemaReader(path).definitions(schemaOf(path, bytes), name);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SchemaError(`${path}: it is no whole table of Arrow: ${error.message}`);
  }
}

function schemaOf(path: string, bytes: Uint8Array): FlatTable {
  const head = Buffer.from(bytes.subarray(0, MAGIC.length)).toString("latin1");
  if (head.startsWith("FEA1"))
    throw new SchemaError(`${path}: it is of version 1 of Feather; write it as version 2, which is Arrow's own format`);
  const from = head === MAGIC ? MAGIC.length : 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(from, true) !== CONTINUATION) throw new RangeError("a message does not begin as one");
  const length = view.getUint32(from + 4, true);
  if (from + 8 + length > bytes.length) throw new RangeError("it is cut");
  const message = FlatTable.root(bytes.subarray(from + 8, from + 8 + length));
  const schema = message.table(2);
  if (message.byte(1) !== Header.SCHEMA || !schema) throw new RangeError("the schema is not the first message");
  return schema;
}

class SchemaReader {
  readonly #definitions: MessageDefinition[] = [];
  readonly #names = new Set<string>();
  #fields = 0;

  constructor(readonly path: string) {}

  definitions(schema: FlatTable, name: string): MessageDefinition[] {
    this.#message(name, schema.tables(1), 0);
    return this.#definitions;
  }

  #message(wanted: string, columns: readonly FlatTable[], depth: number): FieldType {
    const base = pascalCase(wanted) || "Model";
    let name = base;
    for (let number = 2; this.#names.has(name); number++) name = `${base}${number}`;
    this.#names.add(name);
    const at = this.#definitions.length;
    const fields = columns.map((column) => this.#field(column, name, depth));
    this.#definitions.splice(at, 0, { kind: "message", name, fields, description: "" });
    return { kind: "named", name };
  }

  #field(column: FlatTable, owner: string, depth: number): MessageField {
    const name = column.text(0, MOST_NAME_BYTES);
    const presence = column.byte(1) === 1 ? "optional" : "required";
    return { name, jsonName: undefined, type: this.#type(column, `${owner}_${name}`, depth + 1), presence, description: "" };
  }

  #type(column: FlatTable, name: string, depth: number): FieldType {
    if (depth > DEEPEST) throw new SchemaError(`${this.path}: columns within columns, more than ${DEEPEST} deep`);
    if (++this.#fields > MOST_FIELDS) throw new SchemaError(`${this.path}: more than ${MOST_FIELDS} columns`);
    const id = column.byte(2);
    const below = column.tables(5);
    const inner = (child: FlatTable | undefined, part: string): FieldType => {
      if (!child) throw new RangeError("a column lacks a part");
      const type = this.#type(child, `${name}_${part}`, depth + 1);
      return child.byte(1) === 1 ? { kind: "nullable", of: type } : type;
    };
    if (id === Type.STRUCT) return this.#message(name, below, depth);
    if (LISTS.has(id)) return { kind: "list", item: inner(below[0], "item") };
    if (id === Type.MAP) {
      const [key, value] = below[0]?.tables(5) ?? [];
      if (!key) throw new RangeError("a column lacks a part");
      return { kind: "map", key: this.#type(key, `${name}_key`, depth + 1), value: inner(value, "value") };
    }
    if (id === Type.RUN_END_ENCODED) return this.#type(below[1] ?? column, name, depth + 1);
    return { kind: "plain", python: PLAIN[id] ?? "Any" };
  }
}
