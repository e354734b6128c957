/** Bodies in JSON, read member by member: what is wrong is refused by its place in the body. */

import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { errorText } from "../../../domain/error-text.ts";
import { microsToTimestamp } from "../../../domain/proto-time.ts";
import { parseInstant } from "../../../domain/timestamp.ts";
import { describeValue, parseExactJson } from "../../../domain/value.ts";
import { Failure } from "../../failure.ts";
import { unknownField } from "./json-fields.ts";

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * The object that a body is. Throws Failure invalid_argument, also for a field that is not among
 * those that are known.
 */
export function parsedBody(bytes: Uint8Array, known: ReadonlySet<string>): Fields {
  let value: unknown;
  try {
    value = parseExactJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new Failure("invalid_argument", `The body is not JSON: ${errorText(error)}.`);
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
  if (odd !== undefined) throw new Failure("invalid_argument", `${odd}.`);
  return value as Fields;
}

/** Whether a member is there and is not null. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** A text; empty when it is absent or null. Throws Failure invalid_argument. */
export function text(value: unknown, at: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw wrong(at, "a string", value);
  if (!value.isWellFormed()) throw new Failure("invalid_argument", `${at}: the text has half a character (a lone surrogate).`);
  return value;
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
