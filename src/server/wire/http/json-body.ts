/** Bodies in JSON, read member by member: what is wrong is refused by its place in the body. */

import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { errorText } from "../../../domain/error-text.ts";
import { microsToTimestamp } from "../../../domain/proto-time.ts";
import { parseInstant } from "../../../domain/timestamp.ts";
import { describeValue, parseExactJson } from "../../../domain/value.ts";
import { Failure } from "../../failure.ts";
import { clipped } from "../../query/refusal.ts";
import { unknownField } from "./json-fields.ts";

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * The object that a body is, of its bytes or its text. Throws Failure invalid_argument, also for a
 * field that is not among those that are known.
 */
export function parsedBody(body: Uint8Array | string, known: ReadonlySet<string>): Fields {
  let value: unknown;
  try {
    value = parseExactJson(typeof body === "string" ? body : new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    throw new Failure("invalid_argument", `The body is not JSON: ${clipped(errorText(error))}.`);
  }
  return objectOf(value, "the body", known);
}

/**
 * An object; `at` is its place in the body. Throws Failure invalid_argument, also for a field that
 * is not among those that are known.
 */
export function objectOf(value: unknown, at: string, known?: ReadonlySet<string>): Fields {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw wrong(at, "an object", value);
  const odd = known && unknownField(value, known, at === "the body" ? "" : `${at}.`);
  if (odd !== undefined) throw new Failure("invalid_argument", `${clipped(odd)}.`);
  return value as Fields;
}

/** Whether a member is there and is not null. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * A text; empty when it is absent or null. Throws Failure invalid_argument.
 * @param most characters that it may have
 */
export function text(value: unknown, at: string, most = Number.POSITIVE_INFINITY): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw wrong(at, "a string", value);
  if (value.length > most) throw wrong(at, `a string of at most ${most} characters`, value);
  if (!value.isWellFormed()) throw new Failure("invalid_argument", `${at}: the text has half a character (a lone surrogate).`);
  return value;
}

/**
 * A list; empty when it is absent or null. Throws Failure invalid_argument.
 * @param wanted what kind of list, for the message
 */
export function list(value: unknown, at: string, wanted: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrong(at, wanted, value);
  return value;
}

/**
 * A list of texts; empty when it is absent or null. Throws Failure invalid_argument.
 * @param most characters that each may have
 */
export function texts(value: unknown, at: string, most?: number): string[] {
  return list(value, at, "a list of strings").map((one, index) => {
    if (one === null) throw wrong(`${at}[${index}]`, "a string", one);
    return text(one, `${at}[${index}]`, most);
  });
}

/** True or false; false when it is absent or null. Throws Failure invalid_argument. */
export function flag(value: unknown, at: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw wrong(at, "true or false", value);
  return value;
}

/** A time with its zone. Throws Failure invalid_argument. */
export function instant(value: unknown, at: string): Timestamp {
  const found = typeof value === "string" ? parseInstant(value) : undefined;
  if (!found) throw wrong(at, "an ISO 8601 time with a zone such as 2024-05-01T12:00:00Z", value);
  if (!found.zoned) throw new Failure("invalid_argument", `${at}: the time ${JSON.stringify(value)} has no zone.`);
  return microsToTimestamp(found.micros);
}

/** A document of `messageJson` whose counts, none of which is beyond 2^53, are plain numbers. */
export function withPlainCounts(document: Fields): Fields {
  return JSON.parse(JSON.stringify(document, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value))) as Fields;
}

/** The refusal of a value that is something else than what is wanted at its place. */
export function wrong(at: string, wanted: string, value: unknown): Failure {
  return new Failure("invalid_argument", `${at}: expected ${wanted}, got ${describeValue(value)}.`);
}
