/**
 * Checks of JSON bodies before they are parsed: sizes that would block the server while it parses,
 * and repeated names that parsing would drop silently.
 */

import { isUtf8 } from "node:buffer";

/** A body that is refused before parsing; the message says what is wrong and where. */
export class JsonRefused extends Error {
  override readonly name = "JsonRefused";
}

/** The text of a body that passed the checks; whether it is JSON is left to the parser. */
export interface JsonText {
  readonly text: string;
  /**
   * Number of members of the outermost object, and of the object in its member `below`; a repeated
   * name counts each time.
   */
  readonly members: number;
  readonly membersBelow: number;
}

/** Most values of a body: items of lists and members of objects together. */
const MAX_JSON_VALUES = 500_000;

/** Most levels of nested lists and objects. */
const MAX_DEPTH = 200;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

const NOTHING: Uint8Array = new Uint8Array(0);
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The text of a body. Throws JsonRefused when it is not UTF-8, has more than `maxValues` values, or
 * is nested too deep.
 * @param below name of the member of the outermost object whose members are counted too, from
 * `quoted`
 */
export function jsonText(bytes: Uint8Array, maxValues = MAX_JSON_VALUES, below = NOTHING): JsonText {
  const scan = new Scan(bytes, maxValues, below);
  scan.run();
  try {
    return { text: utf8.decode(bytes), members: scan.members, membersBelow: scan.membersBelow };
  } catch {
    throw new JsonRefused(`the body is not UTF-8: byte ${invalidByte(bytes)} begins no character`);
  }
}

/** A name as JSON bytes, with its quotes. */
export function quoted(name: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(name));
}

/**
 * A name that occurs twice in the outermost object of valid JSON, or with `below` in the object of
 * that member. Undefined when there is none.
 */
export function repeatedName(bytes: Uint8Array, below?: Uint8Array): string | undefined {
  const scan = new Scan(bytes, bytes.length, below ?? NOTHING);
  const seen = new Set<string>();
  let repeated: string | undefined;
  scan.onName = (name, depth) => {
    if (depth === (below === undefined ? 1 : 2) && repeated === undefined && seen.size === seen.add(name()).size) repeated = name();
  };
  scan.run();
  return repeated;
}

/** A body without the items of one of its lists, and these. */
export interface JsonList {
  readonly rest: Uint8Array<ArrayBuffer>;
  readonly items: readonly Uint8Array[];
}

/**
 * The items of the list in a member of the outermost object, which are left to the parser as they
 * are; undefined when there is no such list.
 * @param name the member's name, from `quoted`
 */
export function splitList(bytes: Uint8Array, name: Uint8Array): JsonList | undefined {
  const items: Uint8Array[] = [];
  let [begin, from, depth] = [0, 0, 0];
  let isNamed = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      const end = stringEnd(bytes, at);
      if (depth === 1) isNamed = Buffer.compare(bytes.subarray(at, end + 1), name) === 0;
      at = end;
    } else if (byte === 0x5b || byte === 0x7b) {
      if (++depth === 2 && isNamed && byte === 0x5b && begin === 0) begin = from = at + 1;
    } else if (byte === COMMA && depth === 2 && begin > 0) {
      items.push(bytes.subarray(from, at));
      from = at + 1;
    } else if ((byte === 0x5d || byte === 0x7d) && depth-- === 2 && begin > 0) {
      const last = bytes.subarray(from, at);
      const isEmpty = items.length === 0 && last.every((one) => one <= 0x20);
      return { rest: Buffer.concat([bytes.subarray(0, begin), bytes.subarray(at)]), items: isEmpty ? [] : [...items, last] };
    }
  }
  return undefined;
}

class Scan {
  members = 0;
  membersBelow = 0;
  /** Called for every member that is counted. */
  onName: ((name: () => string, depth: number) => void) | undefined;
  #nameFrom = 0;
  #nameEnd = 0;
  #isBelow = false;

  constructor(
    readonly bytes: Uint8Array,
    readonly maxValues: number,
    /** The name as JSON bytes: with quotes, without escapes. */
    readonly below: Uint8Array,
  ) {}

  run(): void {
    const { bytes, maxValues } = this;
    let depth = 0;
    let values = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        const end = stringEnd(bytes, at);
        if (depth <= 2) {
          this.#nameFrom = at;
          this.#nameEnd = end + 1;
        }
        at = end;
      } else if (byte === COLON) {
        if (depth <= 2) this.#member(depth);
      } else if (byte === COMMA) {
        if (++values > maxValues) throw new JsonRefused(`the body has more than ${maxValues} values; send it in parts`);
      } else if (byte === 0x5b || byte === 0x7b) {
        if (++depth > MAX_DEPTH) throw new JsonRefused(`lists and objects lie in one another more than ${MAX_DEPTH} deep (byte ${at})`);
        values++;
      } else if (byte === 0x5d || byte === 0x7d) depth--;
    }
  }

  #member(depth: number): void {
    if (depth === 1) {
      this.members++;
      this.#isBelow = this.#isNamed(this.below);
    } else if (this.#isBelow) this.membersBelow++;
    else return;
    this.onName?.(() => this.#name(), depth);
  }

  #isNamed(name: Uint8Array): boolean {
    if (this.#nameEnd - this.#nameFrom !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (this.bytes[this.#nameFrom + i] !== name[i]) return false;
    return true;
  }

  /** The last name that was read. */
  #name(): string {
    return JSON.parse(utf8.decode(this.bytes.subarray(this.#nameFrom, this.#nameEnd)));
  }
}

/**
 * Offset of the quote that ends the string beginning at `from`; the length of the bytes, or more,
 * when there is none.
 */
function stringEnd(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  for (; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
  return at;
}

/** Offset of the first byte that does not begin a character, in bytes that are not UTF-8. */
function invalidByte(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const lead = bytes[at] as number;
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length > 1 && (at + length > bytes.length || !isUtf8(bytes.subarray(at, at + length)))) break;
    at += length;
  }
  return at;
}
