/** Places in JSON, as singular queries of RFC 9535 name them, and scalars of JSON as text. */

import { type FeatureValue, parseExactJson } from "../value.ts";
import { EvaluationError } from "./evaluation-error.ts";
import { floatText } from "./float.ts";

/** The names and positions from the root to a place; negative positions count from the end. */
export type JsonPath = readonly (string | number)[];

/** Longest path, in UTF-16 units. */
const LONGEST = 4096;
/** Integers of this many digits and more are written as floats. */
const FIRST_FLOAT = 2 ** 63;

const STEP = /\.([\p{L}_][\p{L}\p{N}_]*)|\[(?:(-?(?:0|[1-9]\d{0,14}))|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/suy;

let latest: { readonly source: string; readonly path: JsonPath } | undefined;

/**
 * The path of a text such as `$.user.tags[0]["a b"]`; the one read last is kept. Throws
 * EvaluationError.
 */
export function parseJsonPath(source: string): JsonPath {
  if (latest?.source === source) return latest.path;
  const refuse = (at: number): never => {
    const shown = JSON.stringify(source.slice(0, 80));
    throw new EvaluationError(`the path ${shown} is not understood at character ${at + 1}: write such as $.user.tags[0]['a b']`);
  };
  if (!source.startsWith("$") || source.length > LONGEST) refuse(0);
  const path: (string | number)[] = [];
  for (let at = 1; at < source.length; at = STEP.lastIndex) {
    STEP.lastIndex = at;
    const found = STEP.exec(source);
    if (!found) return refuse(at);
    const [, name, position, single, double] = found;
    if (position !== undefined) path.push(Number(position));
    else path.push(name ?? (single ?? double ?? "").replace(/\\(.)/gsu, "$1"));
  }
  latest = { source, path };
  return path;
}

/** The JSON of a text. Throws EvaluationError when it is none. */
export function parseJson(text: string): FeatureValue {
  try {
    return parseExactJson(text) as FeatureValue;
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof RangeError)) throw error;
    throw new EvaluationError(`the text is no JSON: ${JSON.stringify(text.slice(0, 40))}`);
  }
}

/** What stands at a place; undefined when there is no such place. */
export function atPath(root: FeatureValue, path: JsonPath): FeatureValue | undefined {
  let at: FeatureValue | undefined = root;
  for (const step of path) {
    if (at === null || typeof at !== "object") return undefined;
    if (Array.isArray(at)) at = typeof step === "number" ? at.at(step) : undefined;
    else at = typeof step === "string" && Object.hasOwn(at, step) ? (at as { [name: string]: FeatureValue })[step] : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

/** A scalar of JSON as text: a number in its digits, `true`, `false`; null for all others. */
export function scalarText(value: FeatureValue | undefined): string | null {
  switch (typeof value) {
    case "string":
      return value;
    case "boolean":
    case "bigint":
      return String(value);
    case "number":
      return Number.isInteger(value) && Math.abs(value) < FIRST_FLOAT ? String(BigInt(value)) : floatText(value);
    default:
      return null;
  }
}

/** A value of JSON as text: a scalar as `scalarText` has it, others as compact JSON. */
export function jsonText(value: FeatureValue): string {
  return typeof value === "string" ? value : compact(value);
}

function compact(value: FeatureValue): string {
  if (typeof value === "string" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(compact).join(",")}]`;
  if (typeof value !== "object" || value instanceof Uint8Array) return scalarText(value) ?? "null";
  return `{${Object.entries(value)
    .map(([name, item]) => `${JSON.stringify(name)}:${compact(item)}`)
    .join(",")}}`;
}
