/** Values given with a query: from the form in which they came to the declared type. */

import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { describeValue, type FeatureValue, TypeMismatch } from "../../domain/value.ts";
import type { ScalarInfo } from "./index-types.ts";
import type { AskInput } from "./request.ts";

/** A given value does not fit; the message names the feature, the type wanted and the value given. */
export class BadGiven extends Error {
  override readonly name = "BadGiven";
  constructor(
    readonly path: string,
    message: string,
  ) {
    super(message);
  }
}

/** JSON with integers beyond 2^53 kept exactly, as bigints. Throws SyntaxError. */
export function parseExactJson(text: string): unknown {
  return /\d{16}/.test(text) ? JSON.parse(text, keepIntegers as (key: string, value: unknown) => unknown) : JSON.parse(text);
}

function keepIntegers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value) || !context?.source) return value;
  return /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
}

/** The value of a feature. Throws BadGiven. */
export function givenValue(feature: ScalarInfo, path: string, input: AskInput): FeatureValue {
  const value = input.form === "text" ? decodeText(feature, path, input.value) : input.value;
  if (value === null || value === undefined) {
    if (value === undefined) throw new BadGiven(path, `${path}: expected ${feature.typeName}, got no value`);
    if (feature.nullable) return null;
    const hint = isText(feature) && input.form === "text" ? `; for the text "null" write '"null"'` : "";
    throw new BadGiven(path, `${path}: expected ${feature.typeName}, got null, and the feature is not optional${hint}`);
  }
  if (typeof value === "number" && !Number.isSafeInteger(value) && baseOf(feature) === PrimitiveType.INT64 && Number.isInteger(value))
    throw new BadGiven(
      path,
      `${path}: expected ${feature.typeName}, got ${describeValue(value)}, which JSON cannot hold exactly; write it as a string`,
    );
  try {
    return feature.lenient(value);
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    throw new BadGiven(path, `${path}: ${error.message}`);
  }
}

/** The fields of a row given whole, or null. Throws BadGiven. */
export function givenRow(path: string, className: string, input: AskInput): Readonly<Record<string, unknown>> | null {
  let { value } = input;
  if (input.form !== "typed" && typeof value === "string") {
    try {
      value = parseExactJson(value);
    } catch {
      throw new BadGiven(path, `${path}: expected a row of ${className} as a JSON object, got ${describeValue(value)}`);
    }
  }
  if (value === null) return null;
  if (typeof value !== "object" || Array.isArray(value) || value instanceof Uint8Array)
    throw new BadGiven(path, `${path}: expected a row of ${className} as an object, got ${describeValue(value)}`);
  return value as Readonly<Record<string, unknown>>;
}

/** The primitive below a type, through enums; undefined for lists and structs. */
function baseOf(feature: ScalarInfo): PrimitiveType | undefined {
  const { kind } = feature.dtype;
  return kind.case === "primitive" ? kind.value : kind.case === "enum" ? kind.value.base : undefined;
}

function isText(feature: ScalarInfo): boolean {
  return baseOf(feature) === PrimitiveType.STRING;
}

/**
 * Text of a command line as a value. What is JSON is decoded, except that a decimal keeps its digits and that for a
 * string only a JSON string or null is decoded, so that `007` stays as it is. What is no JSON is left to the coercion.
 */
function decodeText(feature: ScalarInfo, path: string, text: unknown): unknown {
  if (typeof text !== "string") return text;
  let decoded: unknown;
  try {
    decoded = parseExactJson(text);
  } catch {
    if (baseOf(feature) === PrimitiveType.JSON)
      throw new BadGiven(path, `${path}: expected json, got ${describeValue(text)}, which is no JSON`);
    return text;
  }
  const base = baseOf(feature);
  if (base === PrimitiveType.STRING) return typeof decoded === "string" || decoded === null ? decoded : text;
  const isNumber = typeof decoded === "number" || typeof decoded === "bigint";
  return isNumber && base === PrimitiveType.DECIMAL ? text : decoded;
}
