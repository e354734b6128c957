/**
 * Bytes to be decoded as messages, made from descriptors: valid messages, truncated or changed
 * ones, random bytes, and bombs.
 */

import { type DescField, type DescMessage, fromBinary, ScalarType, toJsonString } from "@bufbuild/protobuf";

/** A generator of numbers from a seed, uniform in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A generator of request bodies. */
export class WireFuzz {
  constructor(
    readonly random: () => number,
    /** Texts that the server knows, such as names. */
    readonly words: readonly string[],
  ) {}

  /** A number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.random() * end);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.below(256));
  }

  /** A message of a type, with some of its fields. */
  message(type: DescMessage, depth = 4): Uint8Array<ArrayBuffer> {
    const parts: number[] = [];
    for (const field of type.fields) {
      const times = this.random() < 0.5 ? 0 : field.fieldKind === "list" || field.fieldKind === "map" ? 1 + this.below(3) : 1;
      for (let i = 0; i < times; i++) parts.push(...this.#field(field, depth));
    }
    return new Uint8Array(parts);
  }

  /** Bodies of a call, as messages. */
  messages(type: DescMessage): Uint8Array<ArrayBuffer>[] {
    const valid = Array.from({ length: 4 }, () => this.message(type));
    return [
      new Uint8Array(0),
      ...valid,
      ...valid.map((bytes) => bytes.slice(0, this.below(bytes.length + 1))),
      ...valid.map((bytes) => this.changed(bytes)),
      this.bytes(1 + this.below(40)),
      this.bytes(2_000),
      new Uint8Array(5_000).fill(0x78),
      new Uint8Array(5_000),
      ...type.fields.slice(0, 3).map(({ number }) => this.#nested(number)),
    ];
  }

  /** Bodies of a call, as JSON. */
  texts(type: DescMessage): Uint8Array<ArrayBuffer>[] {
    const valid = Array.from({ length: 4 }, () => this.#text(type));
    const names = type.fields.map(({ jsonName }) => jsonName);
    const values = ["null", "1e999", "-1", '"x"', "[]", "{}", "[[]]", "true", '{"a":{}}', '"\\ud800"'];
    return [
      "{}",
      "[]",
      "",
      "null",
      '{"',
      ...valid,
      ...valid.map((text) => text.slice(0, this.below(text.length + 1))),
      ...names.flatMap((name) => [`{"${name}":${this.pick(values)}}`, `{"${name}":${this.pick(values)}}`]),
      "[".repeat(20_000),
      '{"a":'.repeat(20_000),
      `{"${names[0] ?? "a"}":${"[".repeat(150)}${"]".repeat(150)}}`,
    ]
      .map((text) => new TextEncoder().encode(text))
      .concat(
        valid.map((text) => this.changed(new TextEncoder().encode(text))),
        [this.bytes(50)],
      );
  }

  /** The bytes with some of them changed. */
  changed(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    const changed = Uint8Array.from(bytes);
    for (let i = 0; i <= bytes.length / 20; i++) if (bytes.length > 0) changed[this.below(bytes.length)] = this.below(256);
    return changed;
  }

  #text(type: DescMessage): string {
    try {
      return toJsonString(type, fromBinary(type, this.message(type)));
    } catch {
      return "{}";
    }
  }

  /** A message field nested in itself some thousand times. */
  #nested(number: number): Uint8Array<ArrayBuffer> {
    let bytes: number[] = [];
    for (let i = 0; i < 300; i++) bytes = [...varint(BigInt((number << 3) | 2)), ...varint(BigInt(bytes.length)), ...bytes];
    return new Uint8Array(bytes);
  }

  #field(field: DescField, depth: number): number[] {
    const tag = (wire: number) => varint(BigInt((field.number << 3) | wire));
    const delimited = (bytes: Iterable<number>) => {
      const body = [...bytes];
      return [...tag(2), ...varint(BigInt(body.length)), ...body];
    };
    switch (field.fieldKind) {
      case "message":
        return depth === 0 ? [] : delimited(this.message(field.message, depth - 1));
      case "enum":
        return [...tag(0), ...varint(BigInt(this.below(20)))];
      case "list":
        if (field.listKind === "message") return depth === 0 ? [] : delimited(this.message(field.message, depth - 1));
        return field.listKind === "enum" ? [...tag(0), ...varint(BigInt(this.below(9)))] : this.#scalar(field.scalar, tag);
      case "map": {
        const key = this.#scalar(field.mapKey, (wire) => [(1 << 3) | wire]);
        if (field.mapKind !== "message") return delimited(key);
        const value = depth === 0 ? [] : [...this.message(field.message, depth - 1)];
        return delimited([...key, (2 << 3) | 2, ...varint(BigInt(value.length)), ...value]);
      }
      case "scalar":
        return this.#scalar(field.scalar, tag);
    }
  }

  #scalar(type: ScalarType, tag: (wire: number) => readonly number[]): number[] {
    switch (type) {
      case ScalarType.DOUBLE:
      case ScalarType.FIXED64:
      case ScalarType.SFIXED64:
        return [...tag(1), ...this.bytes(8)];
      case ScalarType.FLOAT:
      case ScalarType.FIXED32:
      case ScalarType.SFIXED32:
        return [...tag(5), ...this.bytes(4)];
      case ScalarType.STRING: {
        const text = new TextEncoder().encode(this.pick([...this.words, "", "x".repeat(this.below(50)), "ä€😀"]));
        return [...tag(2), ...varint(BigInt(text.length)), ...text];
      }
      case ScalarType.BYTES: {
        const bytes = this.bytes(this.below(20));
        return [...tag(2), ...varint(BigInt(bytes.length)), ...bytes];
      }
      default:
        return [...tag(0), ...varint(this.pick([0n, 1n, 5n, 2n ** 31n, 2n ** 63n - 1n, 2n ** 64n - 1n]))];
    }
  }
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    if (rest < 0x80n) return [...bytes, Number(rest)];
    bytes.push(Number(rest & 0x7fn) | 0x80);
  }
}

/** A body in an envelope, as in streams and gRPC-web. */
export function enveloped(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new DataView(new ArrayBuffer(5));
  head.setUint32(1, body.length);
  return new Uint8Array([...new Uint8Array(head.buffer), ...body]);
}
