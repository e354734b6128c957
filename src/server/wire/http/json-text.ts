/**
 * JSON bodies as text, looked through before they are parsed: what parsing would hold the server up
 * with, or lose without a word, is found here.
 */

import { isUtf8 } from "node:buffer";

/** A body that is not read as JSON: what is wrong with it, and where. */
export class JsonRefused extends Error {
  override readonly name = "JsonRefused";
}

/** A body that can be handed to the parser, which says whether it is JSON. */
export interface JsonText {
  readonly text: string;
  /**
   * How many members the outermost object has, and the one below it that was asked about; a name
   * that comes twice counts twice.
   */
  readonly members: number;
  readonly membersBelow: number;
}

/** Most values of a body: items of lists and members of objects together. */
const MAX_JSON_VALUES = 500_000;

/** Levels of lists and objects in one another. */
const MAX_DEPTH = 200;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

const NOTHING: Uint8Array = new Uint8Array(0);
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The text of a body, once it is seen to be UTF-8, of no more than `maxValues` values and not too
 * deep. Throws JsonRefused.
 * @param below the member of the outermost object whose members are counted too, from `quoted`
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

/** A name as it stands in a body. */
export function quoted(name: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(name));
}

/**
 * A name that an object of valid JSON has twice: the outermost one, or with `below` the one in that
 * member. Undefined when there is none.
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

class Scan {
  members = 0;
  membersBelow = 0;
  /** Told of every member that is counted. */
  onName: ((name: () => string, depth: number) => void) | undefined;
  #nameFrom = 0;
  #nameEnd = 0;
  #isBelow = false;

  constructor(
    readonly bytes: Uint8Array,
    readonly maxValues: number,
    /** As it stands in the body: with its quotes, without escapes. */
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

  /** The name that was read last. */
  #name(): string {
    return JSON.parse(utf8.decode(this.bytes.subarray(this.#nameFrom, this.#nameEnd)));
  }
}

/**
 * Where the quote is that ends the string that begins at `from`; the end of the bytes when there is
 * none.
 */
function stringEnd(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  for (; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
  return at;
}

/** The first byte that begins no character, of bytes that are not UTF-8. */
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
