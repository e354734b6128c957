/** Environment variables that settings may give to code of projects. */

import { isJsonObject, type Json } from "./json-value.ts";

const MAX_VARIABLES = 500;
const MAX_VALUE = 32_768;

/** What is wrong with variables by name, with the key of each; undefined when nothing is. */
export function variablesProblem(value: Json | undefined, key: string): string | undefined {
  if (value === undefined || !isJsonObject(value)) return `${key}: expected keys and values`;
  const variables = Object.entries(value);
  if (variables.length > MAX_VARIABLES) return `${key}: there are at most ${MAX_VARIABLES}`;
  for (const [name, text] of variables) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return `${key}: '${name}' is no name of an environment variable`;
    if (isReserved(name)) return `${key}.${name}: the server sets this variable itself`;
    if (typeof text !== "string") return `${key}.${name}: expected text${typeof text === "object" ? "" : `; write "${text}" in quotes`}`;
    if (text.length > MAX_VALUE) return `${key}.${name}: is longer than ${MAX_VALUE} characters`;
    if (text.includes("\0")) return `${key}.${name}: has a NUL character`;
  }
  return undefined;
}

/**
 * Whether a name is one that the server or Python itself reads: with those, settings would be code.
 */
function isReserved(name: string): boolean {
  return /^(?:SVC_|LD_|DYLD_|PYTHON)/i.test(name) || ["PATH", "HOME", "TARGET_ROOT", "SYSTEMROOT"].includes(name.toUpperCase());
}
