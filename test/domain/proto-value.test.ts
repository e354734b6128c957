import { expect, test } from "bun:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { type DataType, DataTypeSchema, PrimitiveType, ValueSchema } from "../../gen/svc/v1/value_pb.ts";
import {
  durationToMs,
  microsToDuration,
  microsToTimestamp,
  msToDuration,
  msToTimestamp,
  timestampToMicros,
} from "../../src/domain/proto-time.ts";
import { fromProtoValue, toProtoValue } from "../../src/domain/proto-value.ts";
import { formatMicros } from "../../src/domain/timestamp.ts";
import { encodeStored, type FeatureValue } from "../../src/domain/value.ts";
import { seeded } from "../harness/seed.ts";

function primitive(value: PrimitiveType): DataType {
  return create(DataTypeSchema, { kind: { case: "primitive", value } });
}

function overWire(value: FeatureValue, type?: DataType): FeatureValue {
  return fromProtoValue(fromBinary(ValueSchema, toBinary(ValueSchema, toProtoValue(value, type))));
}

const instant = fc.bigInt(-62_135_596_800_000_000n, 253_402_300_799_999_999n);

/** Values of each primitive type. */
const TYPED: readonly (readonly [PrimitiveType, fc.Arbitrary<FeatureValue>, string])[] = [
  [
    PrimitiveType.INT64,
    fc.oneof(fc.maxSafeInteger(), fc.bigInt(2n ** 53n, 2n ** 63n - 1n), fc.bigInt(-(2n ** 63n), -(2n ** 53n))),
    "int64Value",
  ],
  [PrimitiveType.FLOAT64, fc.double(), "doubleValue"],
  [PrimitiveType.STRING, fc.string({ unit: "grapheme" }), "stringValue"],
  [PrimitiveType.BOOL, fc.boolean(), "boolValue"],
  [PrimitiveType.BYTES, fc.uint8Array() as fc.Arbitrary<Uint8Array>, "bytesValue"],
  [PrimitiveType.DATE, instant.map((micros) => formatMicros(micros).slice(0, 10)), "dateValue"],
  [PrimitiveType.DATETIME, instant.map(formatMicros), "timestampValue"],
  [PrimitiveType.TIMEDELTA, fc.maxSafeInteger(), "durationValue"],
  [PrimitiveType.DECIMAL, fc.tuple(fc.bigInt(), fc.nat(99)).map(([a, b]) => `${a}.${b}`), "decimalValue"],
];

test("every primitive value survives the wire, under the kind of its type", () => {
  for (const [type, values, kind] of TYPED)
    fc.assert(
      fc.property(values, (value) => {
        expect(toProtoValue(value, primitive(type)).kind.case as string).toBe(kind);
        expect(encodeStored(overWire(value, primitive(type)))).toBe(encodeStored(value));
      }),
      seeded(100),
    );
});

test("null is null under every type, and an unset value reads as null", () => {
  for (const [type] of TYPED) expect(overWire(null, primitive(type))).toBeNull();
  expect(fromProtoValue(create(ValueSchema))).toBeNull();
});

test("any JSON survives the wire without a type", () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      expect(overWire(value as FeatureValue)).toEqual(value as FeatureValue);
    }),
    seeded(100),
  );
});

test("structs keep the order of their type's fields, and missing ones are null", () => {
  const type = create(DataTypeSchema, {
    kind: {
      case: "struct",
      value: {
        name: "Point",
        fields: [
          { name: "y", dtype: primitive(PrimitiveType.FLOAT64) },
          { name: "x", dtype: primitive(PrimitiveType.FLOAT64) },
          { name: "label", dtype: primitive(PrimitiveType.STRING), nullable: true },
        ],
      },
    },
  });
  const { kind } = toProtoValue({ x: 1, y: 2 }, type);
  if (kind.case !== "structValue") throw new Error(`got ${kind.case}`);
  expect(kind.value.fields.map((field) => [field.name, field.value?.kind.case])).toEqual([
    ["y", "doubleValue"],
    ["x", "doubleValue"],
    ["label", "nullValue"],
  ]);
  const list = create(DataTypeSchema, { kind: { case: "list", value: { element: type } } });
  expect(overWire([{ x: 1, y: 2, label: "a" }], list)).toEqual([{ y: 2, x: 1, label: "a" }]);
});

test("lengths of time can be marked, so that a lenient coercion does not read them as seconds", () => {
  const value = toProtoValue(1_500_000, primitive(PrimitiveType.TIMEDELTA));
  expect(fromProtoValue(value)).toBe(1_500_000);
  expect(fromProtoValue(value, { markDurations: true })).toEqual({ $micros: 1_500_000 });
});

test("instants and durations survive their messages", () => {
  fc.assert(
    fc.property(instant, (micros) => timestampToMicros(microsToTimestamp(micros)) === micros),
    seeded(100),
  );
  expect(microsToTimestamp(-1n)).toMatchObject({ seconds: -1n, nanos: 999_999_000 });
  expect(msToTimestamp(1.25)).toMatchObject({ seconds: 0n, nanos: 1_250_000 });
  expect(msToTimestamp(999.99996)).toMatchObject({ seconds: 1n, nanos: 0 });
  expect(microsToDuration(-1_500_000n)).toMatchObject({ seconds: -1n, nanos: -500_000_000 });
  expect(durationToMs(msToDuration(90_061_001.5))).toBe(90_061_001.5);
  expect(durationToMs(msToDuration(Number.POSITIVE_INFINITY))).toBe(Number.POSITIVE_INFINITY);
});
