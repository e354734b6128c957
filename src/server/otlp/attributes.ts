/** Attributes between OTLP's messages and the platform's records. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AnyValue, KeyValue, KeyValueSchema } from "../../../gen/opentelemetry/proto/common/v1/common_pb.ts";

/** Longest name and longest value of an attribute that is taken, in characters. */
const MAX_NAME = 200;
const MAX_VALUE = 2_000;

/** Attributes as they are sent; those that are empty or undefined are left out. */
export function sentAttributes(attributes: Readonly<Record<string, string | number | undefined>>): SentAttribute[] {
  return Object.entries(attributes).flatMap(([key, value]): SentAttribute[] => {
    if (value === undefined || value === "") return [];
    if (typeof value === "string") return [{ key, value: { value: { case: "stringValue", value } } }];
    if (!Number.isSafeInteger(value)) return [{ key, value: { value: { case: "doubleValue", value } } }];
    return [{ key, value: { value: { case: "intValue", value: BigInt(value) } } }];
  });
}

type SentAttribute = MessageInitShape<typeof KeyValueSchema>;

/** At most `most` attributes that were received, as texts. */
export function receivedAttributes(attributes: readonly KeyValue[], most: number): Record<string, string> {
  return Object.fromEntries(
    attributes.slice(0, most).map(({ key, value }) => [key.slice(0, MAX_NAME), valueText(value).slice(0, MAX_VALUE)]),
  );
}

/** A received value as text: texts as they are, all others as JSON. */
export function valueText(value: AnyValue | undefined): string {
  const plain = plainValue(value);
  return plain === null ? "" : typeof plain === "string" ? plain : JSON.stringify(plain);
}

type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain };

/** A received value as JSON has it; bytes, and whole numbers that are not exact there, are text. */
function plainValue(any: AnyValue | undefined): Plain {
  const { value } = any ?? {};
  switch (value?.case) {
    case "stringValue":
    case "boolValue":
    case "doubleValue":
      return value.value;
    case "intValue":
      return Number.isSafeInteger(Number(value.value)) ? Number(value.value) : String(value.value);
    case "bytesValue":
      return value.value.toBase64();
    case "arrayValue":
      return value.value.values.map(plainValue);
    case "kvlistValue":
      return Object.fromEntries(value.value.values.map((entry) => [entry.key, plainValue(entry.value)]));
    default:
      return null;
  }
}
