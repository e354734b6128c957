/**
 * Unknown fields of JSON bodies: empty ones are ignored, because a newer client asks for nothing by
 * them; others are refused by name.
 */

import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { didYouMean } from "../../../domain/closest.ts";
import { clipped } from "../../query/refusal.ts";
import { JsonRefused } from "./json-text.ts";

/**
 * The message about the first unknown field that is not empty, such as `unknown field
 * 'context.tag'; did you mean 'tags'?`; undefined when there is none.
 * @param prefix the path to the object, with its dot
 */
export function unknownField(given: object, known: ReadonlySet<string>, prefix: string): string | undefined {
  const name = firstUnknown(given, known);
  return name === undefined ? undefined : describeUnknown(name, [...known], prefix);
}

function firstUnknown(given: object, known: ReadonlySet<string>): string | undefined {
  for (const name in given) if (!known.has(name) && !isEmpty((given as Readonly<Record<string, unknown>>)[name])) return name;
  return undefined;
}

function describeUnknown(name: string, known: readonly string[], prefix: string): string {
  return `unknown field '${prefix}${name}'; ${didYouMean(name, known) || `the fields are ${known.join(", ")}`}`;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === "" || (typeof value === "object" && Object.keys(value as object).length === 0);
}

/**
 * Checks the fields of a message in JSON and of the messages in it. Text that is not JSON passes:
 * decoding refuses it. Throws JsonRefused.
 */
export function checkJsonFields(type: DescMessage, text: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  checkFields(type, value, "");
}

function checkFields(type: DescMessage, value: unknown, prefix: string): void {
  if (value === null || typeof value !== "object" || Array.isArray(value) || type.typeName.startsWith("google.protobuf.")) return;
  const given = value as Readonly<Record<string, unknown>>;
  const unknown = firstUnknown(given, namesOf(type));
  if (unknown !== undefined) {
    const known = type.fields.map((field) => field.jsonName);
    throw new JsonRefused(clipped(describeUnknown(unknown, known, prefix)));
  }
  for (const field of type.fields) {
    const message = messageOf(field);
    if (!message) continue;
    for (const name of new Set([field.jsonName, field.name])) {
      const inner = given[name];
      const at = `${prefix}${name}`;
      if (inner === undefined) continue;
      if (field.fieldKind === "list" && Array.isArray(inner))
        for (const [position, item] of inner.entries()) checkFields(message, item, `${at}[${position}].`);
      else if (field.fieldKind === "map" && inner !== null && typeof inner === "object")
        for (const [key, item] of Object.entries(inner)) checkFields(message, item, `${at}['${key}'].`);
      else checkFields(message, inner, `${at}.`);
    }
  }
}

/**
 * The message type of a field, of a list's items or of a map's values; undefined for scalars and
 * enums.
 */
function messageOf(field: DescField): DescMessage | undefined {
  return field.fieldKind === "scalar" || field.fieldKind === "enum" ? undefined : field.message;
}

const names = new WeakMap<DescMessage, ReadonlySet<string>>();

/** The names of the fields, in JSON and in protobuf. */
function namesOf(type: DescMessage): ReadonlySet<string> {
  const known = names.get(type) ?? new Set(type.fields.flatMap((field) => [field.jsonName, field.name]));
  names.set(type, known);
  return known;
}
