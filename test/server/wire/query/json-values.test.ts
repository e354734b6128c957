/**
 * Values of every type through the JSON endpoints: inputs give the outputs of the table, and a row
 * of a bulk query gives the same as a query for it alone, for any JSON.
 */

import { expect, setDefaultTimeout, test } from "bun:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { type DataType, DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { toProtoValue } from "../../../../src/domain/proto-value.ts";
import type { FeatureValue } from "../../../../src/domain/value.ts";
import { patience, seeded } from "../../../harness/seed.ts";
import { featureClass, graph, primitive, python, type TypeSpec } from "../../query/graphs.ts";
import { World } from "../../query/worlds.ts";
import { type JsonEndpoint, jsonEndpoints } from "./json-endpoints.ts";

setDefaultTimeout(patience(300_000));

const typed = (kind: MessageInitShape<typeof DataTypeSchema>["kind"]): DataType => create(DataTypeSchema, { kind } as never);
const listOf = (element: DataType, more: { elementNullable?: boolean; set?: boolean } = {}) =>
  typed({ case: "list", value: { element, ...more } });
const enumOf = (name: string, base: "int" | "str", values: readonly FeatureValue[]) => {
  const kind = primitive(base).kind;
  const members = values.map((value, at) => ({ name: `M${at}`, value: toProtoValue(value, primitive(base)) }));
  return typed({ case: "enum", value: { name, base: kind.case === "primitive" ? kind.value : 0, members } });
};
const point = typed({
  case: "struct",
  value: {
    name: "Point",
    fields: [
      { name: "x", dtype: primitive("int") },
      { name: "y", dtype: primitive("float"), nullable: true },
    ],
  },
});
const place = typed({
  case: "struct",
  value: {
    name: "Place",
    fields: [
      { name: "at", dtype: point },
      { name: "seen", dtype: listOf(primitive("datetime")), nullable: true },
    ],
  },
});

const TYPES = {
  i: "int",
  oi: "int?",
  f: "float",
  s: "str",
  os: "str?",
  b: "bool",
  raw: "bytes",
  day: "date",
  t: "datetime",
  span: "timedelta",
  d: "decimal",
  j: "json",
  ints: listOf(primitive("int")),
  floats: listOf(primitive("float"), { elementNullable: true }),
  few: listOf(primitive("int"), { set: true }),
  nested: listOf(listOf(primitive("str"))),
  times: listOf(primitive("datetime")),
  point,
  points: listOf(point),
  place,
  color: enumOf("Color", "str", ["red", "blue"]),
  level: enumOf("Level", "int", [1, 2]),
} satisfies Record<string, TypeSpec>;
type Name = keyof typeof TYPES;
const NAMES = Object.keys(TYPES) as Name[];

const made = graph(
  [
    featureClass("row", {
      id: "int",
      ...TYPES,
      ...Object.fromEntries(NAMES.map((name) => [`${name}_again`, TYPES[name]])),
    }),
  ],
  NAMES.map((name) => python(`m.${name}`, [`row.${name}?`], [`row.${name}_again`])),
);

const world = new World(made, { python: Object.fromEntries(NAMES.map((name) => [`m.${name}`, ([value]) => value])) });
const send = jsonEndpoints(world);

/** JSON whose numbers are kept as written, so that 1.0 is not 1 and no digit is lost. */
const asWritten = (text: string): unknown =>
  JSON.parse(text, ((_: string, value: unknown, { source }: { source: string }) =>
    typeof value === "number" ? { number: source } : value) as never);

async function post(endpoint: JsonEndpoint, body: string) {
  const { status, text } = await send(endpoint, body);
  return { status, body: asWritten(text) as Record<string, unknown> };
}

interface Came {
  /** The output of the feature and of a resolver that returns it. */
  readonly values?: readonly unknown[];
  readonly errors: readonly unknown[];
}

interface Problem {
  readonly code: string;
  readonly message: string;
}
const told = (problems: unknown) =>
  ((problems ?? []) as Problem[]).map(({ code, message }) => `${code}: ${message.replace(/^row \d+: /, "")}`).sort();

async function alone(name: Name, text: string): Promise<Came> {
  const outputs = JSON.stringify([`row.${name}`, `row.${name}_again`]);
  const { status, body } = await post("online", `{"inputs": {"row.id": 1, "row.${name}": ${text}}, "outputs": ${outputs}}`);
  expect([text, [200, 400].includes(status)]).toEqual([text, true]);
  const data = body.data as { value: unknown }[] | undefined;
  return { ...(status === 200 && data ? { values: data.map(({ value }) => value) } : {}), errors: told(body.errors) };
}

async function inBulk(name: Name, texts: readonly string[]): Promise<Came[]> {
  const paths = [`row.${name}`, `row.${name}_again`];
  const inputs = `{"row.id": [${texts.map((_, at) => at)}], "row.${name}": [${texts.join(", ")}]}`;
  const { status, body } = await post("bulk", `{"inputs": ${inputs}, "outputs": ${JSON.stringify(paths)}}`);
  expect(status).toBe(200);
  const data = body.data as Record<string, unknown[]>;
  const errors = (body.errors ?? []) as (Problem & { row: { number: string } })[];
  return texts.map((_, row) => {
    const own = errors.filter((error) => Number(error.row.number) === row);
    return { values: paths.map((path) => data[path]?.[row]), errors: told(own) };
  });
}

/**
 * Checks for the same value or the same failure; alone, a wrong input refuses the query, so that
 * there is no data. A number alone may be text in a column.
 */
function expectSame(name: Name, text: string, single: Came, row: Came): void {
  const values = single.values ?? [null, null];
  const told = (value: unknown) => (MAY_BE_TEXT.has(name) ? asText(value) : value);
  expect({ name, text, values: told(row.values), errors: row.errors }).toEqual({ name, text, values: told(values), errors: single.errors });
}

const MAY_BE_TEXT: ReadonlySet<Name> = new Set(["i", "oi", "span", "ints", "few", "point", "points", "place", "level"] as const);

/** The value with every number, and every length of time in seconds, as text. */
function asText(value: unknown): unknown {
  if (typeof value === "string")
    return value.replace(/^(-?\d+)(?:\.(\d+))?s$/, (_, before, after) => (after ? `${before}.${after}` : before));
  if (value === null || typeof value !== "object") return value;
  if ("number" in value) return String(value.number);
  if (Array.isArray(value)) return value.map(asText);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, asText(one)]));
}

/** Inputs and their outputs as JSON text; an undefined output means that the input is refused. */
const CASES: Readonly<Record<Name, readonly (readonly [sent: string, back: string | undefined])[]>> = {
  i: [
    ["0", "0"],
    ["-0", "0"],
    ["9007199254740991", "9007199254740991"],
    ["9007199254740993", '"9007199254740993"'],
    ['"9223372036854775807"', '"9223372036854775807"'],
    ["-9223372036854775808", '"-9223372036854775808"'],
    ["9223372036854775808", undefined],
    ['" +7 "', "7"],
    ["1.0", "1"],
    ["1.5", undefined],
    ["1e3", "1000"],
    ["1e30", undefined],
    ["true", undefined],
    ["null", undefined],
    ["[1]", undefined],
    ['{"$int": "5"}', undefined],
    ['"0x10"', undefined],
    ['""', undefined],
  ],
  oi: [
    ["null", "null"],
    ["5", "5"],
    ['"null"', undefined],
  ],
  f: [
    ["0", "0"],
    ["-0.0", "-0.0"],
    ["5e-324", "5e-324"],
    ["1.7976931348623157e308", "1.7976931348623157e+308"],
    ["0.1", "0.1"],
    ["9007199254740993", "9007199254740992"],
    ['{"$float": "NaN"}', '{"$float": "NaN"}'],
    ['{"$float": "-Infinity"}', '{"$float": "-Infinity"}'],
    ['{"$float": "nan"}', undefined],
    ['"inf"', '{"$float": "Infinity"}'],
    ['"1e5"', "100000"],
    ['"1,5"', undefined],
    ["false", undefined],
    ["null", undefined],
  ],
  s: [
    ['""', '""'],
    ['"\\u0000\\n\\"ß😀e\\u0301"', '"\\u0000\\n\\"ß😀e\\u0301"'],
    ['"\\ud83d\\ude00"', '"😀"'],
    ["5", '"5"'],
    ["9007199254740993", '"9007199254740993"'],
    ["1.5", undefined],
    ["true", undefined],
    ["null", undefined],
    ["{}", undefined],
  ],
  os: [
    ["null", "null"],
    ['"null"', '"null"'],
  ],
  b: [
    ["true", "true"],
    ["0", "false"],
    ['"TRUE"', "true"],
    ['"yes"', undefined],
    ["2", undefined],
    ["null", undefined],
  ],
  raw: [
    ['""', '""'],
    ['"aGk="', '"aGk="'],
    ['"aGk"', undefined],
    ['"a-_="', undefined],
    ["1", undefined],
  ],
  day: [
    ['"0001-01-01"', '"0001-01-01"'],
    ['"9999-12-31"', '"9999-12-31"'],
    ['"2024-02-29"', '"2024-02-29"'],
    ['"2023-02-29"', undefined],
    ['"0000-01-01"', undefined],
    ["20240101", undefined],
  ],
  t: [
    ['"2024-05-01T12:00:00Z"', '"2024-05-01T12:00:00.000000Z"'],
    ['"2024-05-01T12:00:00.000001+02:00"', '"2024-05-01T10:00:00.000001Z"'],
    ['"0001-01-01T00:00:00Z"', '"0001-01-01T00:00:00.000000Z"'],
    ['"9999-12-31T23:59:59.999999Z"', '"9999-12-31T23:59:59.999999Z"'],
    ['"1969-12-31T23:59:59.9"', '"1969-12-31T23:59:59.900000Z"'],
    ['"0001-01-01T00:00:00+01:00"', undefined],
    ['"2024-02-30T00:00:00Z"', undefined],
    ["1700000000", undefined],
  ],
  span: [
    ["1.5", "1.5"],
    ["-0.000001", "-0.000001"],
    ["0", "0"],
    ['"1h30m"', "5400"],
    ['"63113904000.123456s"', '"63113904000.123456s"'],
    ["1e300", undefined],
    ["true", undefined],
    ['{"$micros": "1500000"}', "1.5"],
    ['{"$micros": "soon"}', undefined],
    ['{"$micros": [1]}', undefined],
  ],
  d: [
    ['"1.10"', '"1.10"'],
    ['"-0.00"', '"-0.00"'],
    ["1.5", '"1.5"'],
    ["9007199254740993", '"9007199254740993"'],
    ['"12345678901234567890.123456789"', '"12345678901234567890.123456789"'],
    ['"NaN"', undefined],
    ["null", undefined],
  ],
  j: [
    ['{"a": [1, 2.5, null, {"b": true}]}', '{"a": [1, 2.5, null, {"b": true}]}'],
    ["9007199254740993", '"9007199254740993"'],
    ['{"$int": "5"}', '{"$int": "5"}'],
    ['{"$bytes": "!"}', '{"$bytes": "!"}'],
    ['{"__proto__": 1}', '{"__proto__": 1}'],
    ['"text"', '"text"'],
    ["[]", "[]"],
    ["null", undefined],
  ],
  ints: [
    ["[]", "[]"],
    ["[1, 9007199254740993]", '["1", "9007199254740993"]'],
    ['"[1, 2]"', "[1, 2]"],
    ["[1, null]", undefined],
    ["[1, [2]]", undefined],
    ["5", undefined],
  ],
  floats: [
    ["[1, null, -0.0]", "[1, null, -0.0]"],
    ['[{"$float": "NaN"}]', '[{"$float": "NaN"}]'],
  ],
  few: [
    ["[3, 1, 3, 1]", "[3, 1]"],
    ["[]", "[]"],
  ],
  nested: [
    ['[["a"], [], ["", "😀"]]', '[["a"], [], ["", "😀"]]'],
    ['[["a"], "b"]', undefined],
  ],
  times: [
    ['["2024-05-01T12:00:00.5+01:00"]', '["2024-05-01T11:00:00.500000Z"]'],
    ['["soon"]', undefined],
  ],
  point: [
    ['{"x": 1}', '{"x": 1, "y": null}'],
    ['{"y": 2, "x": 9007199254740993}', '{"x": "9007199254740993", "y": 2}'],
    ['{"y": 2}', undefined],
    ['{"x": 1, "z": 1}', undefined],
    ["[1, 2]", undefined],
    ["{}", undefined],
  ],
  points: [
    ['[{"x": 1, "y": -0.0}]', '[{"x": 1, "y": -0.0}]'],
    ["[null]", undefined],
  ],
  place: [
    ['{"at": {"x": 1, "y": 0.5}, "seen": ["2024-05-01"]}', '{"at": {"x": 1, "y": 0.5}, "seen": ["2024-05-01T00:00:00.000000Z"]}'],
    ['{"at": null}', undefined],
    ['{"at": {"x": "one"}}', undefined],
  ],
  color: [
    ['"red"', '"red"'],
    ['"RED"', undefined],
    ["1", undefined],
  ],
  level: [
    ["2", "2"],
    ['"2"', "2"],
    ["3", undefined],
    ["1.5", undefined],
  ],
};

test.each(NAMES)("%s: in and out, alone and among others", async (name) => {
  const rows = await inBulk(
    name,
    CASES[name].map(([sent]) => sent),
  );
  for (const [at, [sent, back]] of CASES[name].entries()) {
    const single = await alone(name, sent);
    expectSame(name, sent, single, rows[at] as Came);
    const wanted = back === undefined ? undefined : [asWritten(back), asWritten(back)];
    expect({ name, sent, values: single.values }).toEqual({ name, sent, values: wanted });
    expect({ name, sent, errors: single.errors.length > 0 }).toEqual({ name, sent, errors: back === undefined });
  }
});

/** Random JSON that a client may send: values that fit some type, and any others. */
const known = Object.values(CASES).flatMap((cases) => cases.map(([sent]) => sent));
const scalar = fc.oneof(
  fc.constantFrom(...known),
  fc.double().map((value) => (Number.isFinite(value) ? JSON.stringify(value) : "null")),
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc.string({ unit: "binary", maxLength: 6 }).map((text) => JSON.stringify(text)),
  fc.integer().map((value) => `"${value}"`),
);
const json = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(tie("node"), { maxLength: 3 }).map((items) => `[${items.join(", ")}]`),
    fc
      .dictionary(fc.constantFrom("x", "y", "at", "seen", "$int", "$float", "$bytes", "$micros", "toString", "__proto__"), tie("node"), {
        maxKeys: 2,
      })
      .map((fields) => `{${Object.entries(fields).map(([key, value]) => `"${key}": ${value}`)}}`),
  ),
})).node;

/** A feature, and random JSON, some of which fits it. */
const sent = fc.constantFrom(...NAMES).chain((name) => {
  const own = fc.constantFrom(...CASES[name].map(([text]) => text));
  return fc.tuple(fc.constant(name), fc.array(fc.oneof(own, json), { minLength: 1, maxLength: 12 }));
});

test("any JSON for any type is the same alone and among others, and what comes back can be sent again", async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(sent, async ([name, texts]) => {
      const rows = await inBulk(name, texts);
      for (const [at, text] of texts.entries()) {
        const single = await alone(name, text);
        expectSame(name, text, single, rows[at] as Came);
        if (!single.values) continue;
        taken++;
        expect([name, text, single.values[1]]).toEqual([name, text, single.values[0]]);
        const again = await alone(
          name,
          JSON.stringify(single.values[0], (_, value) => written(value)),
        );
        expect([name, text, again.values]).toEqual([name, text, single.values]);
      }
    }),
    seeded(400),
  );
  expect(taken).toBeGreaterThan(400);
});

/** Numbers and texts in JSON where the type has integers, by their path of fields. */
function formsOf(value: unknown, at = ""): string[] {
  if (value === null) return [];
  if (typeof value === "string") return [`${at} text`];
  if (Array.isArray(value)) return value.flatMap((item) => formsOf(item, at));
  if ("number" in (value as object)) return [`${at} number`];
  return Object.entries(value as object).flatMap(([key, one]) => formsOf(one, `${at}.${key}`));
}

const integer = fc.oneof(fc.integer(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
const INTEGERS = {
  i: integer,
  oi: fc.option(integer),
  ints: fc.array(integer),
  few: fc.uniqueArray(integer),
  points: fc.array(fc.record({ x: integer, y: fc.constant(null) })),
  span: fc.oneof(fc.constant(1.5), fc.constant("63113904000.123456s")),
};

test("a column has one type, whatever its integers; with plain numbers they are numbers with all their digits", async () => {
  const columns = fc
    .constantFrom(...(Object.keys(INTEGERS) as (keyof typeof INTEGERS)[]))
    .chain((name) => fc.tuple(fc.constant(name), fc.array(INTEGERS[name] as fc.Arbitrary<unknown>, { minLength: 1, maxLength: 6 })));
  let large = 0;
  await fc.assert(
    fc.asyncProperty(columns, async ([name, values]) => {
      const texts = values.map((value) => JSON.stringify(value, (_, one) => (typeof one === "bigint" ? rawJson(one.toString()) : one)));
      const ask = (options: object) =>
        `{"inputs": {"row.id": [0], "row.${name}": [${texts}]}, "outputs": ["row.${name}_again"], "encoding_options": ${JSON.stringify(options)}}`;
      const columnOf = async (options: object) =>
        ((await post("bulk", ask(options))).body.data as Record<string, unknown[]>)[`row.${name}_again`] as unknown[];
      const plain = await columnOf({});
      expect([plain, new Set(formsOf(plain)).size]).toEqual([plain, formsOf(plain).length > 0 ? 1 : 0]);
      if (name === "span") return;
      const numbers = await columnOf({ encode_large_integers_as_numbers: true });
      expect(numbers).toEqual(texts.map(asWritten));
      expect(asText(plain)).toEqual(asText(numbers));
      if (formsOf(plain)[0]?.endsWith("text")) large++;
    }),
    seeded(150),
  );
  expect(large).toBeGreaterThan(20);
});

function rawJson(number: string): unknown {
  return (JSON as JSON & { rawJSON(text: string): unknown }).rawJSON(number);
}

/** The number that `asWritten` kept as text, as JSON again. */
function written(value: unknown): unknown {
  const isNumber = value !== null && typeof value === "object" && "number" in value && Object.keys(value).length === 1;
  return isNumber ? rawJson((value as { number: string }).number) : value;
}
