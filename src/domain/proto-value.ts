/** Conversion of values between the wire (`svc.v1.Value`) and memory (`FeatureValue`). */

import { type DataType, NullValue, PrimitiveType, type StructField, type Value } from "../../gen/svc/v1/value_pb.ts";
import { durationToMicros, microsToDuration, microsToTimestamp, timestampToMicros } from "./proto-time.ts";
import { formatMicros, parseInstant } from "./timestamp.ts";
import { type FeatureValue, normalizeInt } from "./value.ts";

type Kind = Value["kind"];

const NULL: Kind = { case: "nullValue", value: NullValue.UNSPECIFIED };

/**
 * The wire form of a value. With a type, the value must be of it (see the table in `value.ts`);
 * without one, or inside `json`, text stays text, whole numbers are integers and objects are
 * structs.
 */
export function toProtoValue(value: FeatureValue, type?: DataType): Value {
  return { $typeName: "svc.v1.Value", kind: kindOf(value, type) };
}

function kindOf(value: FeatureValue, type: DataType | undefined): Kind {
  if (value === null) return NULL;
  switch (type?.kind.case) {
    case "primitive":
      return type.kind.value === PrimitiveType.JSON ? untypedKind(value) : primitiveKind(value, type.kind.value);
    case "enum":
      return primitiveKind(value, type.kind.value.base);
    case "list": {
      const element = type.kind.value.element;
      return Array.isArray(value) ? listKind(value, element) : untypedKind(value);
    }
    case "struct": {
      const { fields } = type.kind.value;
      if (typeof value !== "object" || Array.isArray(value) || value instanceof Uint8Array) return untypedKind(value);
      return structKind(fields.map((field) => [field.name, toProtoValue(value[field.name] ?? null, field.dtype)]));
    }
    default:
      return untypedKind(value);
  }
}

function primitiveKind(value: FeatureValue, type: PrimitiveType): Kind {
  switch (type) {
    case PrimitiveType.INT64:
      return typeof value === "number" || typeof value === "bigint" ? { case: "int64Value", value: BigInt(value) } : untypedKind(value);
    case PrimitiveType.FLOAT64:
      return typeof value === "number" ? { case: "doubleValue", value } : untypedKind(value);
    case PrimitiveType.DATE: {
      const match = typeof value === "string" ? /^(\d{4})-(\d{2})-(\d{2})$/.exec(value) : null;
      if (!match) return untypedKind(value);
      const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
      return { case: "dateValue", value: { $typeName: "svc.v1.CalendarDate", year, month, day } };
    }
    case PrimitiveType.DATETIME: {
      const instant = typeof value === "string" ? parseInstant(value) : undefined;
      return instant ? { case: "timestampValue", value: microsToTimestamp(instant.micros) } : untypedKind(value);
    }
    case PrimitiveType.TIMEDELTA:
      return typeof value === "number" || typeof value === "bigint"
        ? { case: "durationValue", value: microsToDuration(BigInt(value)) }
        : untypedKind(value);
    case PrimitiveType.DECIMAL:
      return typeof value === "string" ? { case: "decimalValue", value } : untypedKind(value);
    default:
      return untypedKind(value);
  }
}

function untypedKind(value: FeatureValue): Kind {
  switch (typeof value) {
    case "string":
      return { case: "stringValue", value };
    case "boolean":
      return { case: "boolValue", value };
    case "bigint":
      return { case: "int64Value", value };
    case "number":
      return Number.isSafeInteger(value) && !Object.is(value, -0)
        ? { case: "int64Value", value: BigInt(value) }
        : { case: "doubleValue", value };
    default:
      if (value === null) return NULL;
      if (value instanceof Uint8Array) return { case: "bytesValue", value: value as Uint8Array<ArrayBuffer> };
      if (Array.isArray(value)) return listKind(value, undefined);
      return structKind(Object.entries(value).map(([name, item]) => [name, toProtoValue(item)]));
  }
}

function listKind(values: readonly FeatureValue[], element: DataType | undefined): Kind {
  return { case: "listValue", value: { $typeName: "svc.v1.ListValue", values: values.map((item) => toProtoValue(item, element)) } };
}

function structKind(fields: [name: string, value: Value][]): Kind {
  return {
    case: "structValue",
    value: {
      $typeName: "svc.v1.StructValue",
      fields: fields.map(([name, value]): StructField => ({ $typeName: "svc.v1.StructField", name, value })),
    },
  };
}

/**
 * The value in memory. An unset kind is taken as null. Lengths of time become integer microseconds,
 * or `{$micros: n}` with `markDurations`, so that a lenient coercion does not take them for
 * seconds.
 */
export function fromProtoValue(value: Value, options: { readonly markDurations?: boolean } = {}): FeatureValue {
  const { kind } = value;
  switch (kind.case) {
    case "int64Value":
      return normalizeInt(kind.value);
    case "doubleValue":
    case "stringValue":
    case "boolValue":
    case "bytesValue":
    case "decimalValue":
      return kind.value;
    case "dateValue": {
      const { year, month, day } = kind.value;
      return `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}`;
    }
    case "timestampValue":
      return formatMicros(timestampToMicros(kind.value));
    case "durationValue": {
      const micros = normalizeInt(durationToMicros(kind.value));
      return options.markDurations ? { $micros: micros } : micros;
    }
    case "listValue":
      return kind.value.values.map((item) => fromProtoValue(item, options));
    case "structValue":
      return Object.fromEntries(kind.value.fields.map(({ name, value: item }) => [name, item ? fromProtoValue(item, options) : null]));
    default:
      return null;
  }
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, "0");
}
