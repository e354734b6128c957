/**
 * Messages as `-vv` shows them. Separate from the calls, because converting messages to JSON takes
 * a good part of the protobuf runtime.
 */

import { type DescMessage, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import { REDACTED, type Redactor } from "./redact.ts";

/**
 * A message as JSON on one line, without known secrets and without the values of fields marked
 * `debug_redact`.
 */
export function messageText<D extends DescMessage>(redactor: Redactor, schema: D, message: MessageShape<D>): string {
  return redactor.text(JSON.stringify(redactFields(schema, toJson(schema, message))));
}

function redactFields(schema: DescMessage, json: JsonValue): JsonValue {
  if (json === null || typeof json !== "object" || Array.isArray(json)) return json;
  const out: { [key: string]: JsonValue } = { ...json };
  for (const field of schema.fields) {
    const value = out[field.jsonName];
    if (value === undefined) continue;
    const { message } = field;
    if (field.proto.options?.debugRedact) out[field.jsonName] = REDACTED;
    else if (!message) continue;
    else if (Array.isArray(value)) out[field.jsonName] = value.map((item) => redactFields(message, item));
    else if (field.fieldKind === "map" && value !== null && typeof value === "object")
      out[field.jsonName] = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactFields(message, item)]));
    else out[field.jsonName] = redactFields(message, value);
  }
  return out;
}
