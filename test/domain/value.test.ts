import { describe, expect, test } from "bun:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { DataTypeSchema, PrimitiveType, type DataTypeSchema as Schema, VectorPrecision } from "../../gen/svc/v1/value_pb.ts";
import {
  compileCoercer,
  decodeStored,
  describeValue,
  encodeStored,
  type FeatureValue,
  type Leniency,
  normalizeInt,
  parseExactJson,
  TypeMismatch,
  toPlainJson,
  typeName,
} from "../../src/domain/value.ts";
import { seeded } from "../harness/seed.ts";

type Init = MessageInitShape<typeof Schema>;
const primitive = (value: PrimitiveType): Init => ({ kind: { case: "primitive", value } });
const listOf = (element: Init, more: { elementNullable?: boolean; set?: boolean } = {}): Init => ({
  kind: { case: "list", value: { element, ...more } },
});
const struct = (fields: { name: string; dtype: Init; nullable?: boolean }[]): Init => ({
  kind: { case: "struct", value: { name: "Point", fields } },
});
const make = (type: Init) => create(DataTypeSchema, type);

const INT = primitive(PrimitiveType.INT64);
const FLOAT = primitive(PrimitiveType.FLOAT64);
const STRING = primitive(PrimitiveType.STRING);
const BOOL = primitive(PrimitiveType.BOOL);
const BYTES = primitive(PrimitiveType.BYTES);
const DATE = primitive(PrimitiveType.DATE);
const DATETIME = primitive(PrimitiveType.DATETIME);
const TIMEDELTA = primitive(PrimitiveType.TIMEDELTA);
const DECIMAL = primitive(PrimitiveType.DECIMAL);
const JSON_TYPE = primitive(PrimitiveType.JSON);

/** The value taken to the type, or `! wanted / given / at` when it does not fit. */
function coerce(type: Init, value: unknown, leniency: Leniency = "strict"): unknown {
  try {
    return compileCoercer(make(type), leniency)(value);
  } catch (error) {
    if (error instanceof TypeMismatch) return `! ${error.wanted} / ${error.given}${error.at ? ` / ${error.at}` : ""}`;
    throw error;
  }
}

type Case = readonly [type: Init, value: unknown, strict: unknown, lenient: unknown];
const refused = (wanted: string, given: string) => `! ${wanted} / ${given}`;

test("a length of time is read back from plain JSON to the microsecond", () => {
  const read = compileCoercer(make(TIMEDELTA), "lenient");
  const longest = 315_576_000_000_000_000n;
  fc.assert(
    fc.property(fc.oneof(fc.bigInt({ min: -longest, max: longest }), fc.bigInt({ min: -(2n ** 53n), max: 2n ** 53n })), (micros) => {
      const value = normalizeInt(micros);
      expect(read(JSON.parse(JSON.stringify(toPlainJson(value, make(TIMEDELTA)))))).toBe(value);
    }),
    seeded(500),
  );
});

test("a float that JSON has no number for is NaN or an infinity", () => {
  for (const leniency of ["strict", "lenient"] as const) {
    expect(["NaN", "Infinity", "-Infinity", "-0"].map(($float) => coerce(FLOAT, { $float }, leniency))).toEqual([
      NaN,
      Infinity,
      -Infinity,
      -0,
    ]);
    for (const $float of ["x", "", "5", 5, null])
      expect(String(coerce(FLOAT, { $float }, leniency))).toStartWith('! float ({"$float": ...} is "NaN", "Infinity" or "-Infinity")');
  }
});

describe("coercion", () => {
  const cases: Record<string, readonly Case[]> = {
    int: [
      [INT, 5, 5, 5],
      [INT, 5n, 5, 5],
      [INT, -0, 0, 0],
      [INT, 2n ** 63n - 1n, 2n ** 63n - 1n, 2n ** 63n - 1n],
      [
        INT,
        2n ** 63n,
        refused("int (64 bits)", "int 9223372036854775808, which is out of range"),
        refused("int (64 bits)", "int 9223372036854775808, which is out of range"),
      ],
      [INT, 2 ** 60, refused("int", "int 1152921504606847000"), 2n ** 60n],
      [INT, "5", refused("int", 'str "5"'), 5],
      [INT, " +9007199254740993 ", refused("int", 'str " +9007199254740993 "'), 9007199254740993n],
      [INT, "5.0", refused("int", 'str "5.0"'), refused("int", 'str "5.0"')],
      [INT, 1.5, refused("int", "float 1.5"), refused("int", "float 1.5")],
      [INT, true, refused("int", "bool true"), refused("int", "bool true")],
    ],
    float: [
      [FLOAT, 5, 5, 5],
      [FLOAT, 5n, 5, 5],
      [FLOAT, Number.NaN, Number.NaN, Number.NaN],
      [FLOAT, { $float: "-Infinity" }, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
      [FLOAT, "1.5e3", refused("float", 'str "1.5e3"'), 1500],
      [FLOAT, "NaN", refused("float", 'str "NaN"'), Number.NaN],
      [FLOAT, "", refused("float", 'str ""'), refused("float", 'str ""')],
      [FLOAT, "0x10", refused("float", 'str "0x10"'), refused("float", 'str "0x10"')],
    ],
    str: [
      [STRING, "x", "x", "x"],
      [STRING, 5, refused("str", "int 5"), "5"],
      [STRING, 9007199254740993n, refused("str", "int 9007199254740993"), "9007199254740993"],
      [STRING, 1.5, refused("str", "float 1.5"), refused("str", "float 1.5")],
    ],
    bool: [
      [BOOL, true, true, true],
      [BOOL, 1, refused("bool", "int 1"), true],
      [BOOL, 0n, refused("bool", "int 0"), false],
      [BOOL, "True", refused("bool", 'str "True"'), true],
      [BOOL, 2, refused("bool", "int 2"), refused("bool", "int 2")],
    ],
    bytes: [
      [BYTES, new Uint8Array([1]), new Uint8Array([1]), new Uint8Array([1])],
      [BYTES, { $bytes: "AQ==" }, new Uint8Array([1]), new Uint8Array([1])],
      [BYTES, { $bytes: "@@@@" }, refused("bytes", 'struct {"$bytes": "@@@@"}'), refused("bytes", 'struct {"$bytes": "@@@@"}')],
      [BYTES, "AQ==", refused("bytes", 'str "AQ=="'), new Uint8Array([1])],
      [BYTES, "A", refused("bytes", 'str "A"'), refused("bytes", 'str "A"')],
    ],
    date: [
      [DATE, "2024-02-29", "2024-02-29", "2024-02-29"],
      [DATE, "2024-02-29T23:00:00-05:00", refused("date", 'str "2024-02-29T23:00:00-05:00"'), "2024-03-01"],
      [DATE, new Date(0), "1970-01-01", "1970-01-01"],
      [DATE, new Date(Number.NaN), refused("date", "struct"), refused("date", "struct")],
      [DATE, new Date(8.64e15), refused("date", "struct"), refused("date", "struct")],
      [DATE, "2023-02-29", refused("date", 'str "2023-02-29"'), refused("date", 'str "2023-02-29"')],
    ],
    datetime: [
      [DATETIME, "2024-05-01T12:00:00+02:00", "2024-05-01T10:00:00.000000Z", "2024-05-01T10:00:00.000000Z"],
      [DATETIME, new Date(1), "1970-01-01T00:00:00.001000Z", "1970-01-01T00:00:00.001000Z"],
      [DATETIME, new Date(Number.NaN), refused("datetime", "struct"), refused("datetime", "struct")],
      [DATETIME, 5, refused("datetime", "int 5"), refused("datetime", "int 5")],
    ],
    timedelta: [
      [TIMEDELTA, 5, 5, 5_000_000],
      [TIMEDELTA, 5n, 5, 5_000_000],
      [TIMEDELTA, { $micros: 7 }, 7, 7],
      [TIMEDELTA, { $micros: "9007199254740993" }, 9007199254740993n, 9007199254740993n],
      [TIMEDELTA, "63113904000.123457s", 63113904000123457n, 63113904000123457n],
      [TIMEDELTA, "-0.000001s", -1, -1],
      [
        TIMEDELTA,
        { $micros: "315576000000000001" },
        refused("timedelta of at most 10,000 years", "one of 315576000000.000001s"),
        refused("timedelta of at most 10,000 years", "one of 315576000000.000001s"),
      ],
      [TIMEDELTA, "-1h30m", -5_400_000_000, -5_400_000_000],
      [TIMEDELTA, "-0s", 0, 0],
      [TIMEDELTA, Number.NaN, refused("timedelta", "float NaN"), refused("timedelta", "float NaN")],
      [TIMEDELTA, "infinity", refused("timedelta", 'str "infinity"'), refused("timedelta", 'str "infinity"')],
    ],
    decimal: [
      [DECIMAL, "12.340", "12.340", "12.340"],
      [DECIMAL, 5, "5", "5"],
      [DECIMAL, Number.POSITIVE_INFINITY, refused("Decimal", "float Infinity"), refused("Decimal", "float Infinity")],
      [DECIMAL, "1,5", refused("Decimal", 'str "1,5"'), refused("Decimal", 'str "1,5"')],
    ],
    json: [[JSON_TYPE, { a: [1, null] }, { a: [1, null] }, { a: [1, null] }]],
  };
  for (const [name, rows] of Object.entries(cases))
    for (const [type, value, strict, lenient] of rows)
      test(`${name}: ${describeValue(value)}`, () => {
        expect(coerce(type, value, "strict")).toEqual(strict);
        expect(coerce(type, value, "lenient")).toEqual(lenient);
      });

  test("lists: elements, places, sets, JSON text", () => {
    expect(coerce(listOf(INT), [1, 2n])).toEqual([1, 2]);
    expect(coerce(listOf(INT), [1, "x"])).toBe('! int / str "x" / [1]');
    expect(coerce(listOf(INT), [null])).toBe("! int / null / [0]");
    expect(coerce(listOf(INT, { elementNullable: true }), [null, 1])).toEqual([null, 1]);
    expect(coerce(listOf(listOf(INT)), [[1], ["x"]])).toBe('! int / str "x" / [1][0]');
    expect(coerce(listOf(INT, { set: true }), [2, 1, 2, 1n])).toEqual([2, 1]);
    expect(coerce(listOf(INT), "[1, 9007199254740993]", "lenient")).toEqual([1, 9007199254740993n]);
    expect(coerce(listOf(INT), "[1]")).toBe('! list[int] / str "[1]"');
    expect(coerce(listOf(INT), { 0: 1 })).toBe('! list[int] / struct {"0": 1}');
  });

  test("vectors: length, finite numbers, rounding", () => {
    const vector = (size: number, precision: VectorPrecision): Init => ({
      kind: { case: "list", value: { element: FLOAT, vector: { size, precision } } },
    });
    const [f16, f32, f64] = [vector(2, VectorPrecision.F16), vector(2, VectorPrecision.F32), vector(0, VectorPrecision.F64)];
    expect([f16, f32, f64].map((type) => typeName(make(type)))).toEqual(['Vector["f16", 2]', "Vector[2]", 'Vector["f64"]']);
    expect(coerce(f16, [0.1, 65504])).toEqual([0.0999755859375, 65504]);
    expect(coerce(f32, [0.1, 2n])).toEqual([0.10000000149011612, 2]);
    expect(coerce(f64, [0.1, -0, 1e300])).toEqual([0.1, -0, 1e300]);
    expect(coerce(f32, "[1, 2.5]", "lenient")).toEqual([1, 2.5]);
    expect(coerce(f32, [1])).toBe("! Vector[2] / list of 1");
    expect(coerce(f32, "[1, 2]")).toBe('! Vector[2] / str "[1, 2]"');
    expect(coerce(f32, [1, "x"])).toBe('! float / str "x" / [1]');
    expect(coerce(f32, [1, null])).toBe("! a finite number of Vector[2] / null / [1]");
    expect(coerce(f32, [1e39, 1])).toBe("! a finite number of Vector[2] / int 1e+39 / [0]");
    expect(coerce(f16, [70_000, 1])).toBe('! a finite number of Vector["f16", 2] / int 70000 / [0]');
    expect(coerce(f64, [{ $float: "NaN" }])).toBe('! a finite number of Vector["f64"] / struct {"$float": "NaN"} / [0]');
  });

  test("structs: fields in order, missing, unknown, of another type", () => {
    const point = struct([
      { name: "x", dtype: INT },
      { name: "y", dtype: FLOAT, nullable: true },
    ]);
    expect(Object.entries(coerce(point, { y: 1, x: 2 }) as object)).toEqual([
      ["x", 2],
      ["y", 1],
    ]);
    expect(coerce(point, { x: 2 })).toEqual({ x: 2, y: null });
    expect(coerce(point, { y: 1 })).toBe("! int / nothing / .x");
    expect(coerce(point, { x: null })).toBe("! int / null / .x");
    expect(coerce(point, { x: "a" })).toBe('! int / str "a" / .x');
    expect(coerce(point, { x: 1, z: 1 })).toBe("! Point / unknown field 'z'");
    expect(coerce(listOf(point), [{ x: 1 }, { x: true }])).toBe("! int / bool true / [1].x");
    expect(coerce(point, '{"x": 1}', "lenient")).toEqual({ x: 1, y: null });
  });

  test("enums take their members' values only", () => {
    const member = (name: string, text: string) => ({ name, value: { kind: { case: "stringValue" as const, value: text } } });
    const kind: Init = {
      kind: { case: "enum", value: { name: "Kind", base: PrimitiveType.STRING, members: [member("A", "a"), member("B", "b")] } },
    };
    expect(coerce(kind, "a")).toBe("a");
    expect(coerce(kind, "c")).toBe('! Kind (one of a, b) / str "c"');
    const size: Init = {
      kind: {
        case: "enum",
        value: { name: "Size", base: PrimitiveType.INT64, members: [{ name: "S", value: { kind: { case: "int64Value", value: 1n } } }] },
      },
    };
    expect(coerce(size, 1)).toBe(1);
    expect(coerce(size, "1", "lenient")).toBe(1);
    expect(coerce(size, 2)).toBe("! Size (one of 1) / int 2");
  });

  test("taking a value that was taken changes nothing, and strict takes what lenient gave", () => {
    const inputs = fc.oneof(
      fc.anything({ withBigInt: true }),
      fc.string(),
      fc.integer(),
      fc.double(),
      fc.constantFrom("true", "1h", "2024-05-01", "AQ==", "1.50"),
    );
    const types = fc.constantFrom(INT, FLOAT, STRING, BOOL, DATE, DATETIME, DECIMAL, listOf(INT), listOf(STRING, { set: true }));
    fc.assert(
      fc.property(types, inputs, (type, input) => {
        if (input === null || input === undefined) return;
        let taken: FeatureValue;
        try {
          taken = compileCoercer(make(type), "lenient")(input);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeMismatch);
          return;
        }
        expect(coerce(type, taken)).toEqual(taken);
        expect(coerce(type, taken, "lenient")).toEqual(taken);
      }),
      seeded(3000),
    );
  });
});

const leaf = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.double(),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n }),
  fc.string({ unit: "binary" }),
  fc.uint8Array(),
);
const key = fc.oneof(fc.string(), fc.constantFrom("$int", "$float", "$bytes", "$$int", "$$$bytes", "__proto__", "$micros"));
const { value: anyValue } = fc.letrec<{ value: FeatureValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(key, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
})) as unknown as { value: fc.Arbitrary<FeatureValue> };

describe("stored form", () => {
  test("keeps every value exactly, objects that look like tags included", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(decodeStored(encodeStored(value))).toStrictEqual(value);
      }),
      seeded(3000),
    );
  });

  test("equal text means equal value", () => {
    expect(encodeStored(-0)).not.toBe(encodeStored(0));
    expect(encodeStored({ $int: "5" })).not.toBe(encodeStored(5n));
    expect(decodeStored('{"$int":"5"}')).toBe(5n);
  });
});

describe("plain JSON", () => {
  test("by type", () => {
    expect(toPlainJson(9007199254740993n)).toBe("9007199254740993");
    expect(toPlainJson(Number.NaN)).toEqual({ $float: "NaN" });
    expect(toPlainJson("2024-05-01T12:00:00.250000Z", make(DATETIME))).toBe("2024-05-01T12:00:00.250000Z");
    expect(toPlainJson("2024-05-01T10:00:00.000000Z", make(DATETIME))).toBe("2024-05-01T10:00:00.000000Z");
    expect(toPlainJson(1_500_000, make(TIMEDELTA))).toBe(1.5);
    expect(toPlainJson([1_000_000], make(listOf(TIMEDELTA)))).toEqual([1]);
    expect(toPlainJson(-63113904000123457n, make(TIMEDELTA))).toBe("-63113904000.123457s");
    expect(JSON.stringify(toPlainJson([-0, 0, -1.5, { a: -0 }]))).toBe('[-0.0,0,-1.5,{"a":-0.0}]');
    expect(toPlainJson({ at: "2024-05-01T00:00:00.000000Z" }, make(struct([{ name: "at", dtype: DATETIME }])))).toEqual({
      at: "2024-05-01T00:00:00.000000Z",
    });
    expect(toPlainJson(new Uint8Array([1, 255]))).toBe("Af8=");
  });

  test("is always JSON", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        expect(() => JSON.stringify(toPlainJson(value))).not.toThrow();
      }),
      seeded(500),
    );
  });
});

test("integers of JSON are read exactly", () => {
  expect(parseExactJson('{"a": 9007199254740993, "b": 1e20, "c": "9007199254740993", "d": -12345678901234567890}')).toEqual({
    a: 9007199254740993n,
    b: 1e20,
    c: "9007199254740993",
    d: -12345678901234567890n,
  });
});

test("normalizeInt", () => {
  expect([2n ** 53n - 1n, -(2n ** 53n) + 1n, 2n ** 53n].map(normalizeInt)).toEqual([2 ** 53 - 1, -(2 ** 53) + 1, 2n ** 53n]);
});

test("types as Python users write them", () => {
  expect([INT, listOf(STRING), listOf(INT, { set: true }), struct([]), DECIMAL].map((type) => typeName(make(type)))).toEqual([
    "int",
    "list[str]",
    "set[int]",
    "Point",
    "Decimal",
  ]);
  expect(typeName(undefined)).toBe("unknown");
});
