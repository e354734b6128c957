/**
 * Reading of .proto files: the messages and enums of proto2, proto3 and editions. Services, options
 * and extensions are passed over.
 */

import { type FieldType, type MessageDefinition, type MessageEnum, type MessageField, SchemaError } from "./message-types.ts";

/** A file that was read. */
export interface ProtoFile {
  readonly path: string;
  /** Paths of the files that it imports, as it names them. */
  readonly imports: readonly string[];
  /** Names in the types of its fields are as written, until `linkProtoFiles`. */
  readonly definitions: readonly MessageDefinition[];
}

interface Token {
  readonly kind: "word" | "number" | "text" | "sign";
  readonly text: string;
  readonly line: number;
  /** The comment above it. */
  readonly comment: string;
}

const TOKEN =
  /([ \t\r\f\v]+)|(\n)|\/\/([^\n]*)|\/\*([\s\S]*?)\*\/|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|([+-]?(?:0[xX][\da-fA-F]+|\d[\w.]*(?:[eE][+-]\d+)?|\.\d\w*))|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|([{}[\]()<>;,=:.+-])/y;
const DEEPEST = 50;

function tokensOf(path: string, text: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  let comment: string[] = [];
  let blank = false;
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) throw new SchemaError(`${path}:${line}: '${text[at]}' is not expected here`);
    const [whole, , newline, slashes, block, word, number, quoted, sign] = match;
    if (newline !== undefined) {
      if (blank) comment = [];
      blank = true;
      line++;
      continue;
    }
    if (slashes !== undefined || block !== undefined) {
      const own = slashes ?? (block as string).replace(/^[ \t]*\*/gm, "");
      if (!tokens.length || tokens.at(-1)?.line !== line) comment.push(...own.split("\n").map((one) => one.trim()));
      line += whole.split("\n").length - 1;
      blank = false;
      continue;
    }
    if (whole.trim() === "") continue;
    blank = false;
    const kind = word !== undefined ? "word" : number !== undefined ? "number" : quoted !== undefined ? "text" : "sign";
    tokens.push({
      kind,
      text: word ?? number ?? (quoted === undefined ? sign : quoted.slice(1, -1)) ?? "",
      line,
      comment: comment.join("\n").trim(),
    });
    comment = [];
  }
  return tokens;
}

const SCALARS: Readonly<Record<string, string>> = {
  double: "float",
  float: "float",
  ...Object.fromEntries(
    "int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64".split(" ").map((name) => [name, "int"]),
  ),
  bool: "bool",
  string: "str",
  bytes: "ProtoBytes",
};

/** Reads a file. Throws SchemaError. */
export function readProtoFile(path: string, text: string): ProtoFile {
  return new ProtoReader(path, tokensOf(path, text)).file();
}

class ProtoReader {
  #at = 0;
  #syntax = "proto2";
  #package = "";
  readonly #imports: string[] = [];
  readonly #definitions: MessageDefinition[] = [];

  constructor(
    readonly path: string,
    readonly tokens: readonly Token[],
  ) {}

  file(): ProtoFile {
    while (this.#at < this.tokens.length) this.#topLevel();
    return { path: this.path, imports: this.#imports, definitions: this.#definitions };
  }

  #peek(): Token {
    const token = this.tokens[this.#at];
    if (!token) throw new SchemaError(`${this.path}:${this.tokens.at(-1)?.line ?? 1}: the file ends in the middle of a definition`);
    return token;
  }

  #next(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  #is(text: string): boolean {
    const token = this.tokens[this.#at];
    return token?.text === text && token.kind !== "text";
  }

  #take(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#wrong(`'${text}'`);
  }

  #wrong(wanted: string): never {
    const { line, text } = this.#peek();
    throw new SchemaError(`${this.path}:${line}: expected ${wanted}, got '${text}'`);
  }

  #word(wanted: string): string {
    const token = this.#peek();
    if (token.kind !== "word") this.#wrong(wanted);
    this.#at++;
    return token.text;
  }

  #quoted(): string {
    const token = this.#peek();
    if (token.kind !== "text") this.#wrong("a text in quotes");
    this.#at++;
    return token.text;
  }

  /** Passes over a statement to its `;`, or over its block. */
  #skip(): void {
    for (let depth = 0; ; ) {
      const { kind, text } = this.#next();
      if (kind !== "sign") continue;
      if (text === "{" || text === "[" || text === "(") depth++;
      else if (text === "}" || text === "]" || text === ")") {
        depth--;
        if (depth === 0 && text === "}" && !this.#is(";") && !this.#is("]") && !this.#is(")")) return;
        if (depth < 0) this.#wrong("a statement");
      } else if (text === ";" && depth === 0) return;
    }
  }

  #topLevel(): void {
    if (this.#take(";")) return;
    const { comment, text } = this.#peek();
    this.#at++;
    switch (text) {
      case "syntax":
      case "edition":
        this.#expect("=");
        this.#syntax = text === "edition" ? "edition" : this.#quoted();
        if (text === "edition") this.#quoted();
        this.#expect(";");
        return;
      case "package":
        this.#package = this.#word("a package");
        this.#expect(";");
        return;
      case "import":
        if (!this.#take("public") && !this.#take("weak")) this.#take("option");
        this.#imports.push(this.#quoted());
        this.#expect(";");
        return;
      case "message":
        this.#message(this.#package, comment, 0);
        return;
      case "enum":
        this.#enum(this.#package, comment);
        return;
      case "option":
      case "service":
      case "extend":
        this.#skip();
        return;
      default:
        this.#at--;
        this.#wrong("message, enum, service, import, package or option");
    }
  }

  #message(scope: string, description: string, depth: number): void {
    this.#messageBody(qualified(scope, this.#word("the name of a message")), description, depth);
  }

  #messageBody(name: string, description: string, depth: number): void {
    if (depth > DEEPEST) throw new SchemaError(`${this.path}:${this.#peek().line}: messages within messages, more than ${DEEPEST} deep`);
    const fields: MessageField[] = [];
    this.#definitions.push({ kind: "message", name, fields, description });
    this.#expect("{");
    while (!this.#take("}")) this.#member(name, fields, depth);
  }

  #member(scope: string, fields: MessageField[], depth: number): void {
    if (this.#take(";")) return;
    const { comment, text } = this.#peek();
    const after = this.tokens[this.#at + 1];
    const isDefinition = after?.kind === "word" && this.tokens[this.#at + 2]?.text === "{";
    if (text === "message" && isDefinition) {
      this.#at++;
      this.#message(scope, comment, depth + 1);
    } else if (text === "enum" && isDefinition) {
      this.#at++;
      this.#enum(scope, comment);
    } else if (text === "oneof" && isDefinition) {
      this.#at += 2;
      this.#expect("{");
      while (!this.#take("}")) {
        if (this.#take(";")) continue;
        if (this.#is("option")) this.#skip();
        else fields.push(this.#field(scope, "optional", depth, this.#peek().comment));
      }
    } else if (text === "option" || text === "extensions" || text === "reserved" || (text === "extend" && isDefinition)) this.#skip();
    else fields.push(this.#labelled(scope, depth, comment));
  }

  #labelled(scope: string, depth: number, comment: string): MessageField {
    for (const label of ["optional", "required", "repeated"] as const)
      if (this.#take(label)) return this.#field(scope, label, depth, comment);
    return this.#field(scope, this.#syntax === "proto3" ? "implicit" : "optional", depth, comment);
  }

  #field(scope: string, label: "optional" | "required" | "repeated" | "implicit", depth: number, comment: string): MessageField {
    if (this.#is("map") && this.tokens[this.#at + 1]?.text === "<") {
      this.#at += 2;
      const key = this.#type(scope);
      this.#expect(",");
      const value = this.#type(scope);
      this.#expect(">");
      return { ...this.#named(comment), type: { kind: "map", key, value }, presence: "zero" };
    }
    if (this.#take("group")) {
      const name = this.#word("the name of a group");
      this.#expect("=");
      this.#next();
      if (this.#is("[")) this.#options();
      this.#messageBody(qualified(scope, name), comment, depth + 1);
      const type: FieldType = { kind: "named", name: `.${qualified(scope, name)}` };
      const written = { name: name.toLowerCase(), jsonName: undefined, description: comment };
      if (label === "repeated") return { ...written, type: { kind: "list", item: type }, presence: "zero" };
      return { ...written, type, presence: label === "required" ? "required" : "optional" };
    }
    const type = this.#type(scope);
    const named = this.#named(comment);
    if (label === "repeated") return { ...named, type: { kind: "list", item: type }, presence: "zero" };
    if (label === "required") return { ...named, type, presence: "required" };
    return { ...named, type, presence: label === "implicit" ? "zero" : "optional" };
  }

  #type(scope: string): FieldType {
    const leading = this.#take(".");
    const name = this.#word("a type");
    const scalar = leading ? undefined : SCALARS[name];
    if (scalar !== undefined) return { kind: "plain", python: scalar };
    return { kind: "named", name: leading ? `.${name}` : `${scope}|${name}` };
  }

  #named(description: string): Pick<MessageField, "name" | "jsonName" | "description"> {
    const name = this.#word("the name of a field");
    this.#expect("=");
    this.#next();
    const stated = this.#is("[") ? this.#options() : undefined;
    this.#expect(";");
    const json = stated ?? name.replace(/_+(.?)/g, (_, letter: string) => letter.toUpperCase());
    return { name, jsonName: json === name ? undefined : json, description };
  }

  /** Passes over the options of a field, and returns its name in JSON if they say one. */
  #options(): string | undefined {
    let json: string | undefined;
    for (let depth = 0; ; ) {
      const { kind, text } = this.#next();
      if (kind === "word" && text === "json_name" && depth === 1 && this.#take("=")) json = this.#quoted();
      if (kind !== "sign") continue;
      if (text === "[" || text === "{" || text === "(") depth++;
      if ((text === "]" || text === "}" || text === ")") && --depth === 0) return json;
    }
  }

  #enum(scope: string, description: string): void {
    const name = qualified(scope, this.#word("the name of an enum"));
    const members: MessageEnum["members"][number][] = [];
    this.#definitions.push({ kind: "enum", name, members, description });
    this.#expect("{");
    while (!this.#take("}")) {
      if (this.#take(";")) continue;
      if ((this.#is("option") || this.#is("reserved")) && this.tokens[this.#at + 1]?.text !== "=") {
        this.#skip();
        continue;
      }
      const member = this.#word("the name of a value");
      this.#expect("=");
      const sign = this.#take("-") ? -1 : 1;
      const token = this.#next();
      const value = sign * Number(token.text);
      if (token.kind !== "number" || !Number.isInteger(value))
        throw new SchemaError(`${this.path}:${token.line}: the value of ${member} is a whole number, not '${token.text}'`);
      if (this.#is("[")) this.#options();
      this.#expect(";");
      members.push({ name: member, value });
    }
  }
}

function qualified(scope: string, name: string): string {
  return scope === "" ? name : `${scope}.${name}`;
}

const ANY: FieldType = { kind: "plain", python: "Any" };
const plain = (python: string): FieldType => ({ kind: "plain", python });
const nullable = (python: string): FieldType => ({ kind: "nullable", of: plain(python) });

/** Messages that have a form of their own in JSON. */
const WELL_KNOWN: Readonly<Record<string, FieldType>> = {
  Timestamp: plain("datetime"),
  Duration: plain("ProtoDuration"),
  Struct: { kind: "map", key: plain("str"), value: ANY },
  Value: ANY,
  ListValue: { kind: "list", item: ANY },
  NullValue: plain("None"),
  Any: { kind: "map", key: plain("str"), value: ANY },
  Empty: { kind: "map", key: plain("str"), value: ANY },
  FieldMask: plain("str"),
  DoubleValue: nullable("float"),
  FloatValue: nullable("float"),
  Int64Value: nullable("int"),
  UInt64Value: nullable("int"),
  Int32Value: nullable("int"),
  UInt32Value: nullable("int"),
  BoolValue: nullable("bool"),
  StringValue: nullable("str"),
  BytesValue: nullable("ProtoBytes"),
};

/**
 * The definitions of files, with the full names of the types that they mean; a message without a
 * value is None. Throws SchemaError for a type that none of them defines, and for one that two do.
 */
export function linkProtoFiles(files: readonly ProtoFile[]): MessageDefinition[] {
  const known = new Map<string, { readonly path: string; readonly definition: MessageDefinition }>();
  for (const { definitions, path } of files)
    for (const definition of definitions) {
      const other = known.get(definition.name);
      if (other) throw new SchemaError(`${path}: ${definition.name} is defined in ${other.path} too`);
      known.set(definition.name, { path, definition });
    }
  const resolve = (path: string, field: string, written: string): FieldType => {
    const [scope = "", name = ""] = written.startsWith(".") ? ["", written.slice(1)] : written.split("|");
    for (let at = scope; ; at = at.slice(0, Math.max(0, at.lastIndexOf(".")))) {
      const full = qualified(at, name);
      if (known.has(full)) return { kind: "named", name: full };
      const wellKnown = /^google\.protobuf\.(\w+)$/.exec(full)?.[1];
      if (wellKnown !== undefined && WELL_KNOWN[wellKnown]) return WELL_KNOWN[wellKnown];
      if (at === "") break;
    }
    throw new SchemaError(`${path}: ${field} has the type ${name}, which no file here defines`);
  };
  const linked = (path: string, field: string, type: FieldType): FieldType => {
    switch (type.kind) {
      case "named":
        return resolve(path, field, type.name);
      case "list":
        return { kind: "list", item: linked(path, field, type.item) };
      case "map":
        return { kind: "map", key: linked(path, field, type.key), value: linked(path, field, type.value) };
      default:
        return type;
    }
  };
  return files.flatMap(({ definitions, path }) =>
    definitions.map((definition): MessageDefinition => {
      if (definition.kind === "enum") return definition;
      const fields = definition.fields.map((field): MessageField => {
        const type = linked(path, `${definition.name}.${field.name}`, field.type);
        const isMessage =
          type.kind === "named"
            ? known.get(type.name)?.definition.kind === "message"
            : type !== field.type && type.kind !== "list" && type.kind !== "map";
        const isWhole = field.type.kind === "named" && (isMessage || type.kind !== "named");
        return { ...field, type, presence: field.presence === "zero" && isWhole ? "optional" : field.presence };
      });
      return { ...definition, fields };
    }),
  );
}
