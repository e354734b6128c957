/** Conversion of values given with a query to the declared types. */

import { PrimitiveType } from "../../../../gen/svc/v1/value_pb.ts";
import { parseWindow, readableName } from "../../../domain/name.ts";
import { BrokenRule } from "../../../domain/validations.ts";
import { describeValue, type FeatureValue, parseExactJson, TypeMismatch } from "../../../domain/value.ts";
import type { ManyInfo, ScalarInfo } from "../graph/index-types.ts";
import type { Guess } from "../refusal.ts";
import type { RequestInput } from "./request.ts";

const NO_NAMES = () => "";

/**
 * The error of a given value that does not fit; the message names the feature, the expected type
 * and the value.
 */
export class BadGiven extends Error {
  override readonly name = "BadGiven";
  constructor(
    readonly path: string,
    message: string,
    /** Names that may have been meant, as the end of the message; empty when there are none. */
    readonly meant: () => string = NO_NAMES,
    /** Whether it is of the right type and breaks a validation. */
    readonly breaksRule = false,
  ) {
    super(message);
  }

  /** The whole message. */
  describe(guess: Guess): string {
    return this.meant === NO_NAMES || !guess() ? this.message : this.message + this.meant();
  }
}

/** The value of a feature. Throws BadGiven. */
export function givenValue(feature: ScalarInfo, path: string, input: RequestInput): FeatureValue {
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
    throw new BadGiven(path, `${path}: ${error.message}`, NO_NAMES, error instanceof BrokenRule);
  }
}

/** The fields of a row given whole, or null. Throws BadGiven. */
export function givenRow(path: string, className: string, input: RequestInput): Readonly<Record<string, unknown>> | null {
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

/** A feature of child rows given as a list with a value per row. */
export interface GivenList {
  readonly path: string;
  readonly feature: ScalarInfo;
  readonly values: readonly FeatureValue[];
}

/** The values of a child's feature, a list with one per row. Throws BadGiven. */
export function givenList(many: ManyInfo, name: string, path: string, input: RequestInput): GivenList {
  const feature = many.foreign.members.get(name);
  if (feature?.kind !== "scalar") throw new BadGiven(path, `${path} is no value of a row of ${many.fqn}`);
  const value = decoded(input);
  if (!Array.isArray(value))
    throw new BadGiven(path, `${path}: expected a list with a value for each row of ${many.fqn}, got ${describeValue(input.value)}`);
  const values = value.map((one: unknown, at) => givenValue(feature, `${path}[${at}]`, { name: path, form: "typed", value: one }));
  return { path, feature, values };
}

/** The given value, parsed when it came as text; undefined when that is not JSON. */
function decoded({ form, value }: RequestInput): unknown {
  if (form === "typed" || typeof value !== "string") return value;
  try {
    return parseExactJson(value);
  } catch {
    return undefined;
  }
}

/** Rows from lists of values. Throws BadGiven when two have different lengths. */
export function zipped(path: string, lists: readonly GivenList[]): FeatureValue {
  const [first, ...others] = lists;
  const odd = others.find((list) => list.values.length !== first?.values.length);
  if (first && odd)
    throw new BadGiven(
      path,
      `lists of the rows of ${path} must be equally long: ${first.path} has ${first.values.length} values, ${odd.path} has ${odd.values.length}`,
    );
  return (first?.values ?? []).map((_, row) =>
    Object.fromEntries(lists.map((list) => [list.feature.name, list.values[row] as FeatureValue])),
  );
}

/**
 * Values of a windowed feature given under its bare name: an object by window (`{"10m": 1}`).
 * Throws BadGiven.
 */
export function givenWindows(
  features: readonly ScalarInfo[],
  path: string,
  input: RequestInput,
): (readonly [ScalarInfo, string, RequestInput])[] {
  const value = decoded(input);
  const windows = features.map((feature) => readableName(feature.name).replace(/^.*\[(.*)\]$/, "$1"));
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Uint8Array)
    throw new BadGiven(
      path,
      `${path} is windowed: give an object with a value per window (${windows.join(", ")}), or one window, for example ${path}[${windows[0]}]`,
    );
  return Object.entries(value).map(([window, one]) => {
    const ms = parseWindow(window);
    const feature = features.find((candidate) => ms !== undefined && candidate.name.endsWith(`__${ms / 1000}__`));
    if (!feature) throw new BadGiven(path, `${path} has no window '${window}'; its windows are ${windows.join(", ")}`);
    return [feature, `${path}[${window}]`, { name: path, form: "typed", value: one }] as const;
  });
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
 * Text of a command line as a value. What is JSON is decoded, except that a decimal keeps its
 * digits and that for a string only a JSON string or null is decoded, so that `007` stays as it
 * is. What is no JSON is left to the coercion.
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
