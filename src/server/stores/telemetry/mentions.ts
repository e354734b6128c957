/**
 * Whether a logged body holds a key: as a value, or as a word of a text. A body of the contract is
 * looked through without its schema, for texts and for messages that look like a `Value`. What only
 * looks like a key is found too.
 */

import type { Body } from "./store.ts";

/** A time, a number with a fraction or a version, or a word: the first two are never keys. */
const WORD = /\d{4}-\d\d-\d\d[T ][\d:.]+|-?\d+(?:\.\d+)+|-?[\p{L}\p{N}_]+/gu;
/** The field of an integer in a `Value`, with its wire type. */
const INT64_VALUE = (2n << 3n) | 0n;
/** Numbers of JSON that lose digits when they are read as such. */
const LONG_NUMBER = /(?<=[:[,]\s*)-?\d{16,}(?=\s*[,\]}])/g;
/** Depth of nested messages that is looked through; the contract's are not deeper. */
const MOST_DEPTH = 32;

/** Whether one of the keys is found in a body. */
export function mentions(body: Body | undefined, keys: ReadonlySet<string>): boolean {
  if (body === undefined) return false;
  if (typeof body !== "string") return inMessage(body, keys, 0) ?? false;
  let value: unknown;
  try {
    value = JSON.parse(body.replaceAll(LONG_NUMBER, '"$&"'));
  } catch {
    return inText(body, keys);
  }
  return inJson(value, keys, 0);
}

function inText(text: string, keys: ReadonlySet<string>): boolean {
  if (keys.has(text)) return true;
  for (const [word] of text.matchAll(WORD)) if (keys.has(word) || (word.startsWith("-") && keys.has(word.slice(1)))) return true;
  return false;
}

function inJson(value: unknown, keys: ReadonlySet<string>, depth: number): boolean {
  if (typeof value === "string") return inText(value, keys);
  if (typeof value === "number") return keys.has(String(value));
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((one) => inJson(one, keys, depth + 1));
  return Object.entries(value).some(([name, one]) => !isMeta(name, depth) && (keys.has(name) || inJson(one, keys, depth + 1)));
}

/** Whether an entry tells of an answer or of its fields, and has no values. */
function isMeta(name: string, depth: number): boolean {
  return name === "meta" && (depth === 0 || depth === 2);
}

/** Whether a key is in a message of the wire format; undefined = the bytes are not one. */
function inMessage(bytes: Uint8Array, keys: ReadonlySet<string>, depth: number): boolean | undefined {
  let found = false;
  for (let at = 0; at < bytes.length; ) {
    const tag = varint(bytes, at);
    if (!tag || tag.value >> 3n === 0n) return undefined;
    at = tag.end;
    switch (Number(tag.value & 7n)) {
      case 0: {
        const number = varint(bytes, at);
        if (!number) return undefined;
        const isAlone = tag.value === INT64_VALUE && number.end === bytes.length && bytes.length === number.end - at + 1;
        found ||= isAlone && keys.has(String(BigInt.asIntN(64, number.value)));
        at = number.end;
        break;
      }
      case 1:
        at += 8;
        break;
      case 2: {
        const length = varint(bytes, at);
        if (!length || length.value > BigInt(bytes.length - length.end)) return undefined;
        const end = length.end + Number(length.value);
        found ||= inBytes(bytes.subarray(length.end, end), keys, depth);
        at = end;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        return undefined;
    }
    if (at > bytes.length) return undefined;
  }
  return found;
}

/** Whether a key is in bytes that are a text or a message. */
function inBytes(bytes: Uint8Array, keys: ReadonlySet<string>, depth: number): boolean {
  if (inText(new TextDecoder().decode(bytes), keys)) return true;
  return depth < MOST_DEPTH && inMessage(bytes, keys, depth + 1) === true;
}

/** The variable-length number at a place, and where it ends; undefined = there is none. */
function varint(bytes: Uint8Array, from: number): { readonly value: bigint; readonly end: number } | undefined {
  let value = 0n;
  for (let at = from; at < bytes.length && at < from + 10; at++) {
    const byte = bytes[at] as number;
    value |= BigInt(byte & 0x7f) << BigInt(7 * (at - from));
    if (byte < 0x80) return { value, end: at + 1 };
  }
  return undefined;
}
