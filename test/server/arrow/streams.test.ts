/** Streams of Arrow against Arrow's own library, in both directions, and against bytes that are none. */

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { formatMicros, parseInstant } from "../../../src/domain/timestamp.ts";
import { type FeatureValue, normalizeInt } from "../../../src/domain/value.ts";
import { ArrowRefused, readArrowStream } from "../../../src/server/arrow/read-stream.ts";
import { type ArrowColumn, arrowStream } from "../../../src/server/arrow/write-stream.ts";
import { lacks } from "../../harness/needs.ts";
import { seed, seeded } from "../../harness/seed.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-arrow-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const hasArrow = Bun.spawnSync(["python3", "-c", "import pyarrow"], { stderr: "ignore" }).success;
const MOST = 1_000_000;

/** What the oracle says of a stream. */
interface Said {
  readonly types: readonly string[];
  readonly columns: Readonly<Record<string, readonly unknown[]>>;
  readonly rows: number;
  readonly metadata: Readonly<Record<string, string>>;
}

async function oracle(...words: string[]): Promise<Said[]> {
  const run = Bun.spawn(["python3", join(import.meta.dir, "oracle.py"), ...words], { stdout: "pipe", stderr: "inherit" });
  return JSON.parse(await new Response(run.stdout).text()) as Said[];
}

function primitive(value: PrimitiveType): DataType {
  return create(DataTypeSchema, { kind: { case: "primitive", value } });
}

function listOf(element: DataType, size = 0): DataType {
  return create(DataTypeSchema, {
    kind: { case: "list", value: { element, elementNullable: size === 0, ...(size > 0 ? { vector: { size } } : {}) } },
  });
}

interface Kind {
  readonly type: DataType;
  readonly arrow: string;
  readonly values: fc.Arbitrary<FeatureValue>;
  /** A value as the oracle tells it. */
  readonly told: (value: FeatureValue) => unknown;
}

const P = PrimitiveType;
const longs = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(normalizeInt);
const micros = fc.bigInt({ min: -62135596800000000n, max: 253402300799999999n });
const same = (value: FeatureValue) => value;

const KINDS: readonly Kind[] = [
  { type: primitive(P.INT64), arrow: "int64", values: longs, told: (value) => ({ int: String(value) }) },
  { type: primitive(P.FLOAT64), arrow: "double", values: fc.double(), told: (value) => ({ float: value }) },
  { type: primitive(P.STRING), arrow: "string", values: fc.string({ unit: "grapheme" }), told: same },
  { type: primitive(P.BOOL), arrow: "bool", values: fc.boolean(), told: same },
  {
    type: primitive(P.BYTES),
    arrow: "binary",
    values: fc.uint8Array(),
    told: (value) => ({ bytes: Buffer.from(value as Uint8Array).toString("hex") }),
  },
  { type: primitive(P.DATE), arrow: "date32[day]", values: micros.map((one) => formatMicros(one).slice(0, 10)), told: same },
  {
    ...{ type: primitive(P.DATETIME), arrow: "timestamp[us, tz=UTC]", values: micros.map((one) => formatMicros(one)) },
    told: (value) => ({ micros: String(parseInstant(value as string)?.micros) }),
  },
  {
    ...{ type: primitive(P.TIMEDELTA), arrow: "duration[us]", values: fc.integer({ min: -(10 ** 14), max: 10 ** 14 }) },
    told: (value) => ({ length: String(value) }),
  },
  { type: primitive(P.DECIMAL), arrow: "string", values: fc.constantFrom("1.50", "-0.000001"), told: same },
  {
    type: primitive(P.JSON),
    arrow: "string",
    values: fc.constantFrom<FeatureValue>({ a: [1, "x"] }, [], "t"),
    told: (value) => JSON.stringify(value),
  },
];

const structs: Kind = {
  type: create(DataTypeSchema, {
    kind: {
      case: "struct",
      value: { name: "S", fields: KINDS.slice(0, 3).map(({ type }, at) => ({ name: `f${at}`, dtype: type, nullable: true })) },
    },
  }),
  arrow: "struct<f0: int64, f1: double, f2: string>",
  values: fc.record({ f0: fc.option(longs), f1: fc.double(), f2: fc.string() }) as fc.Arbitrary<FeatureValue>,
  told: (value) => {
    const given = value as Record<string, FeatureValue>;
    return Object.fromEntries(
      ["f0", "f1", "f2"].map((name, at) => [name, given[name] === null ? null : KINDS[at]?.told(given[name] as FeatureValue)]),
    );
  },
};

function lists(of: Kind, size = 0): Kind {
  const items = size > 0 ? of.values : fc.option(of.values);
  return {
    type: listOf(of.type, size),
    arrow: size > 0 ? `fixed_size_list<item: ${of.arrow}>[${size}]` : `list<item: ${of.arrow}>`,
    values: fc.array(items as fc.Arbitrary<FeatureValue>, size > 0 ? { minLength: size, maxLength: size } : { maxLength: 4 }),
    told: (value) => (value as FeatureValue[]).map((item) => (item === null ? null : of.told(item))),
  };
}

const ALL: readonly Kind[] = [...KINDS, structs, ...KINDS.map((kind) => lists(kind)), lists(structs), lists(KINDS[1] as Kind, 3)];

const tables = fc
  .integer({ min: 0, max: 12 })
  .chain((rows) =>
    fc
      .tuple(...ALL.map(({ values }) => fc.array(fc.option(values, { freq: 4 }), { minLength: rows, maxLength: rows })))
      .map((columns) => ({ rows, columns })),
  );

function streamOf({ columns, rows }: { rows: number; columns: (FeatureValue | null)[][] }, texts = { "svc.meta": '{"é":1}' }): Uint8Array {
  const named = columns.map((values, at): ArrowColumn => ({ name: `column ${at}`, type: (ALL[at] as Kind).type, values }));
  return arrowStream(named, rows, texts);
}

/** Floats as the oracle tells them are compared by their bits. */
function comparable(told: unknown): unknown {
  return JSON.parse(
    JSON.stringify(told, (name, value: unknown) => {
      if (name !== "float") return value;
      const number = typeof value === "string" ? fromHex(value) : (value as number);
      return Number.isNaN(number) ? "nan" : Buffer.from(Float64Array.of(number).buffer).toString("hex");
    }),
  );
}

/** Python's `float.hex`. */
function fromHex(text: string): number {
  const [, sign, whole, fraction = "", exponent] = /^(-?)0x(\d)(?:\.([0-9a-f]+))?p([+-]\d+)$/.exec(text) ?? [];
  if (whole === undefined) return text === "inf" ? Number.POSITIVE_INFINITY : text === "-inf" ? Number.NEGATIVE_INFINITY : Number.NaN;
  const mantissa = Number.parseInt(whole + fraction.padEnd(13, "0"), 16) / 2 ** 52;
  const power = Number(exponent);
  const value = power < -1_000 ? mantissa * 2 ** (power + 100) * 2 ** -100 : mantissa * 2 ** power;
  return sign === "-" ? -value : value;
}

test.skipIf(lacks("pyarrow", hasArrow))(
  "Arrow reads what is written, value by value",
  async () => {
    const place = join(folder, "written");
    mkdirSync(place);
    const made = fc.sample(tables, { numRuns: 60, seed });
    for (const [at, table] of made.entries()) writeFileSync(join(place, `${String(at).padStart(3, "0")}.arrows`), streamOf(table));
    const said = await oracle("read", place);
    expect(said.length).toBe(made.length);
    said.forEach((one, at) => {
      const { columns, rows } = made[at] as (typeof made)[number];
      expect(one.rows).toBe(rows);
      expect(one.metadata).toEqual({ "svc.meta": '{"é":1}' });
      expect(one.types).toEqual(ALL.map(({ arrow }) => arrow));
      const wanted = Object.fromEntries(
        columns.map((values, n) => [`column ${n}`, values.map((value) => (value === null ? null : ALL[n]?.told(value)))]),
      );
      expect(comparable(one.columns)).toEqual(comparable(wanted));
    });
  },
  300_000,
);

test.skipIf(lacks("pyarrow", hasArrow))(
  "what Arrow writes is read, value by value",
  async () => {
    const place = join(folder, "read");
    mkdirSync(place);
    const said = await oracle("write", place, String(seed));
    const files = readdirSync(place).sort();
    expect(files.length).toBe(said.length);
    files.forEach((file, at) => {
      const table = readArrowStream(readFileSync(join(place, file)), MOST);
      const { columns, metadata, rows } = said[at] as Said;
      expect([table.rows, table.metadata]).toEqual([rows, metadata]);
      const told = Object.fromEntries(table.names.map((name, n) => [name, (table.columns[n] ?? []).map((value) => tell(name, value))]));
      expect(comparable(told)).toEqual(comparable(columns));
    });
  },
  300_000,
);

/** A value that was read, as the oracle tells it. */
function tell(kind: string, value: unknown): unknown {
  if (value === null) return null;
  if (kind.startsWith("timestamp")) return { micros: String(parseInstant(value as string)?.micros) };
  if (kind.startsWith("duration")) return { length: String((value as { $micros: unknown }).$micros) };
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString("hex") };
  if (kind === "float" || kind === "double") return { float: value };
  if (kind === "fixed_list") return (value as number[]).map((item) => ({ float: item }));
  if (Array.isArray(value)) return value.map((item) => tell("", item));
  if (typeof value === "number" || typeof value === "bigint") return { int: String(value) };
  if (typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, tell("", item)]));
  return value;
}

describe("what is no stream", () => {
  const [table] = fc.sample(tables, { numRuns: 1, seed });
  const whole = new Uint8Array(streamOf(table as NonNullable<typeof table>));

  test("is refused, wherever it is cut", () => {
    for (let length = 1; length < whole.length - 8; length += 7) {
      const cut = whole.slice(0, length);
      expect(() => readArrowStream(cut, MOST)).toThrow(ArrowRefused);
    }
  });

  test("is refused or read, whatever bits are turned", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }), (turns) => {
        const bytes = whole.slice();
        for (const [at, byte] of turns) bytes[at] = byte;
        try {
          readArrowStream(bytes, MOST);
        } catch (error) {
          expect(error).toBeInstanceOf(ArrowRefused);
        }
      }),
      seeded(2_000),
    );
  });

  test("is refused when it holds too many values", () => {
    expect(() => readArrowStream(whole, 3)).toThrow("more than 3 values");
  });
});
