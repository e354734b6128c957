/**
 * JSON values as YAML in blocks. Writing it takes these lines; the library that also reads it would
 * be a tenth of the dashboard's scripts.
 */

import type { Json } from "../../../domain/json-value.ts";

/** Texts that mean themselves without quotes, in every version of YAML. */
const PLAIN = /^[A-Za-z_][A-Za-z0-9_./-]*$/;
const MEANS_ANOTHER = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

/** The text of a value, which ends with a line break. */
export function yamlText(value: Json): string {
  return `${linesOf(value).join("\n")}\n`;
}

function linesOf(value: Json): readonly string[] {
  const entries = entriesOf(value);
  if (entries.length === 0) return [scalar(value)];
  return entries.flatMap(([head, one]) => {
    if (entriesOf(one).length === 0) return [`${head} ${scalar(one)}`];
    const [first = "", ...rest] = linesOf(one);
    const below = rest.map((line) => `  ${line}`);
    return head === "-" ? [`- ${first}`, ...below] : [head, `  ${first}`, ...below];
  });
}

/** What stands before each part of a list or an object, and the part. */
function entriesOf(value: Json): readonly (readonly [string, Json])[] {
  if (Array.isArray(value)) return value.map((one) => ["-", one]);
  return value !== null && typeof value === "object" ? Object.entries(value).map(([key, one]) => [`${scalar(key)}:`, one as Json]) : [];
}

function scalar(value: Json): string {
  return typeof value === "string" && PLAIN.test(value) && !MEANS_ANOTHER.test(value) ? value : JSON.stringify(value);
}
