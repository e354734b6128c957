/**
 * A check of the bytes of a message against its descriptor before they are decoded: decoded objects
 * take many times as much memory, and the decoder's errors say little. Bytes that pass can be
 * decoded.
 */

import { isUtf8 } from "node:buffer";
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";

/**
 * Bytes that are not a message, or one of too many fields; the message says what is wrong and at
 * which byte.
 */
export class MessageRefused extends Error {
  override readonly name = "MessageRefused";
}

/**
 * Most fields of a message, those of nested messages included. A decoded field takes some hundred
 * bytes.
 */
export const MAX_FIELDS = 1_000_000;

/** Most levels of nested messages, which is the decoder's own limit. */
const MAX_DEPTH = 100;

const VARINT = 0;
const FIXED64 = 1;
const DELIMITED = 2;
const FIXED32 = 5;

interface FieldShape {
  readonly wire: number;
  /** Whether a repeated field may be packed. */
  readonly packable: boolean;
  readonly isText: boolean;
  readonly message: MessageShape | undefined;
}

interface MessageShape {
  readonly name: string;
  /** Whether it is an entry of a map, which does not count as a level. */
  readonly isEntry: boolean;
  readonly fields: Map<number, FieldShape>;
}

const shapes = new WeakMap<DescMessage, MessageShape>();

/** Checks the bytes of a message. Throws MessageRefused. */
export function checkMessage(type: DescMessage, bytes: Uint8Array, maxFields = MAX_FIELDS): void {
  messageCheck(type, bytes, maxFields)(0, bytes.length);
}

/**
 * A check of messages of a type at ranges of `bytes` (`to` exclusive); their fields are counted
 * together. The check throws MessageRefused.
 */
export function messageCheck(type: DescMessage, bytes: Uint8Array, maxFields: number): (from: number, to: number) => void {
  const check = new MessageCheck(bytes, maxFields);
  const shape = shapeOf(type);
  return (from, to) => {
    check.at = from;
    check.message(shape, to, 1);
  };
}

/** A reader of the wire format of messages. Methods throw MessageRefused. */
export class WireCursor {
  at = 0;

  constructor(readonly bytes: Uint8Array) {}

  /** A varint of at most 32 bits; higher bits are dropped. */
  varint(end: number): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= end) throw this.cut();
      const byte = this.bytes[this.at++] as number;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw this.wrong("a number has more than 10 bytes");
  }

  /** A tag: the number of a field times eight, plus its wire type. */
  tag(end: number): number {
    const from = this.at;
    const tag = this.varint(end);
    const length = this.at - from;
    if (length > 5 || (length === 5 && (this.bytes[this.at - 1] as number) > 0x0f) || tag < 8)
      throw this.wrong("there is no such field number", from);
    return tag;
  }

  /** Skips a value and returns the offset where it began, after its length if it has one. */
  skip(wire: number, end: number): number {
    if (wire === DELIMITED) {
      const length = this.varint(end);
      const from = this.at;
      if (length > end - from) throw this.cut();
      this.at = from + length;
      return from;
    }
    const from = this.at;
    if (wire === VARINT) this.varint(end);
    else if (wire === FIXED64) this.at += 8;
    else if (wire === FIXED32) this.at += 4;
    else throw this.wrong(`there is no wire type ${wire} here`);
    if (this.at > end) throw this.cut();
    return from;
  }

  wrong(what: string, at = this.at): MessageRefused {
    return new MessageRefused(`the message cannot be read: ${what} (byte ${at})`);
  }

  private cut(): MessageRefused {
    return this.wrong("it ends in the middle of a value");
  }
}

class MessageCheck extends WireCursor {
  #fields = 0;

  constructor(
    bytes: Uint8Array,
    readonly maxFields: number,
  ) {
    super(bytes);
  }

  message({ name, fields }: MessageShape, end: number, depth: number): void {
    if (depth > MAX_DEPTH) throw this.wrong(`messages lie in one another more than ${MAX_DEPTH} deep`);
    while (this.at < end) {
      const tag = this.tag(end);
      if (++this.#fields > this.maxFields) throw this.tooMany();
      const wire = tag & 7;
      const field = fields.get(tag >>> 3);
      const packed = field?.packable && wire === DELIMITED;
      if (field && field.wire !== wire && !packed)
        throw this.wrong(`field ${tag >>> 3} of ${name} has wire type ${wire}, not ${field.wire}`);
      const from = this.skip(wire, end);
      if (packed) {
        this.#fields += this.at - from;
        if (this.#fields > this.maxFields) throw this.tooMany();
        if (field.wire === VARINT) this.#values(from);
        else if ((this.at - from) % (field.wire === FIXED64 ? 8 : 4) !== 0) throw this.wrong("a list ends in the middle of a value");
      } else if (field?.message) {
        const after = this.at;
        this.at = from;
        this.message(field.message, after, field.message.isEntry ? depth : depth + 1);
      } else if (field?.isText && !isUtf8(this.bytes.subarray(from, this.at)))
        throw this.wrong(`field ${tag >>> 3} of ${name} is text that is not UTF-8`, from);
    }
  }

  /** Reads the varints that fill the bytes from `from` to the cursor. */
  #values(from: number): void {
    const end = this.at;
    this.at = from;
    while (this.at < end) this.varint(end);
  }

  private tooMany(): MessageRefused {
    return this.wrong(`it has more than ${this.maxFields} fields; send it in parts`);
  }
}

function shapeOf(type: DescMessage): MessageShape {
  const known = shapes.get(type);
  if (known) return known;
  const shape: MessageShape = { name: type.typeName, isEntry: false, fields: new Map() };
  shapes.set(type, shape);
  for (const field of type.fields) shape.fields.set(field.number, fieldShape(field));
  return shape;
}

function fieldShape(field: DescField): FieldShape {
  switch (field.fieldKind) {
    case "message":
      return messageField(shapeOf(field.message));
    case "enum":
      return scalarField(ScalarType.INT32, false);
    case "scalar":
      return scalarField(field.scalar, false);
    case "list":
      if (field.listKind === "message") return messageField(shapeOf(field.message));
      return scalarField(field.listKind === "enum" ? ScalarType.INT32 : field.scalar, true);
    case "map": {
      const value =
        field.mapKind === "message"
          ? messageField(shapeOf(field.message))
          : scalarField(field.mapKind === "enum" ? ScalarType.INT32 : field.scalar, false);
      const fields = new Map([
        [1, scalarField(field.mapKey, false)],
        [2, value],
      ]);
      return messageField({ name: `${field.parent.typeName}.${field.name}`, isEntry: true, fields });
    }
  }
}

function messageField(message: MessageShape): FieldShape {
  return { wire: DELIMITED, packable: false, isText: false, message };
}

function scalarField(type: ScalarType, repeated: boolean): FieldShape {
  const wire = wireOf(type);
  return { wire, packable: repeated && wire !== DELIMITED, isText: type === ScalarType.STRING, message: undefined };
}

function wireOf(type: ScalarType): number {
  switch (type) {
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return FIXED64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return FIXED32;
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return DELIMITED;
    default:
      return VARINT;
  }
}
