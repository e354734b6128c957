/**
 * The JSON of OTLP: protobuf's, but that ids of traces and spans are hex digits, and enums numbers.
 */

import { type DescMessage, fromJson, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import { errorText } from "../../domain/error-text.ts";
import { plain } from "../web-answer.ts";

/** A text that is no message of OTLP; the message says why. */
export class OtlpRefused extends Error {
  override readonly name = "OtlpRefused";
}

const IDS: ReadonlySet<string> = new Set(["traceId", "spanId", "parentSpanId"]);

/** The text of a message. */
export function otlpText<D extends DescMessage>(type: D, message: MessageShape<D>): string {
  return JSON.stringify(withIds(toJson(type, message, { enumAsInteger: true }), (id) => Uint8Array.fromBase64(id).toHex()));
}

/**
 * The message of a text; fields that are not known are left out, and ids that are no hex digits are
 * empty. Throws OtlpRefused when it is no such message.
 */
export function readOtlpText<D extends DescMessage>(type: D, text: string): MessageShape<D> {
  try {
    const json = withIds(JSON.parse(text) as JsonValue, (id) => (/^(?:[\da-f]{2})*$/i.test(id) ? Uint8Array.fromHex(id).toBase64() : ""));
    return fromJson(type, json, { ignoreUnknownFields: true });
  } catch (error) {
    throw new OtlpRefused(`the body is no ${type.name}: ${plain(errorText(error))}`);
  }
}

/** A copy in which ids are written otherwise. Names of objects are those of fields, never data. */
function withIds(json: JsonValue, write: (id: string) => string): JsonValue {
  if (Array.isArray(json)) return json.map((item) => withIds(item, write));
  if (json === null || typeof json !== "object") return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, IDS.has(name) && typeof value === "string" ? write(value) : withIds(value, write)]),
  );
}
