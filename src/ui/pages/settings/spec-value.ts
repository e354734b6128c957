/** Values of a component's spec, which is any JSON: what is something else counts as absent. */

import { isJsonObject, type Json, type JsonObject } from "../../../domain/json-value.ts";

/** The object of a text. Throws SyntaxError for one that is no JSON. */
export function specOf(text: string): JsonObject {
  return objectOf(JSON.parse(text) as Json);
}

/** An object; an empty one when it is something else. */
export function objectOf(value: Json | undefined): JsonObject {
  return value !== undefined && isJsonObject(value) ? value : {};
}

/** A text; an empty one when it is something else. */
export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** A number; undefined when it is something else. */
export function numberOf(value: Json | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
