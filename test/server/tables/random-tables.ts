/** Random tables of every type, and what a reader in Python says of their values. */

import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../src/domain/value.ts";
import type { TableColumn } from "../../../src/server/tables/engine.ts";

/** A table with its rows, in columns. */
export interface RandomTable {
  readonly columns: readonly TableColumn[];
  readonly rows: number;
  readonly values: readonly (readonly FeatureValue[])[];
}

interface TypedValues {
  readonly dtype: DataType;
  readonly values: fc.Arbitrary<FeatureValue>;
}

export const primitive = (value: PrimitiveType): DataType => create(DataTypeSchema, { kind: { case: "primitive", value } });

const two = (value: number) => String(value).padStart(2, "0");
const date = fc
  .tuple(
    fc.oneof(fc.constantFrom(1, 9999, 1582, 1900, 1970), fc.integer({ min: 1, max: 9999 })),
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 1, max: 28 }),
  )
  .map(([year, month, day]) => `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`);
const time = fc
  .tuple(
    fc.integer({ min: 0, max: 23 }),
    fc.integer({ min: 0, max: 59 }),
    fc.integer({ min: 0, max: 59 }),
    fc.integer({ min: 0, max: 999_999 }),
  )
  .map(([hour, minute, second, micros]) => `${two(hour)}:${two(minute)}:${two(second)}.${String(micros).padStart(6, "0")}`);
const int64 = fc
  .oneof(
    fc.integer(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, -(2n ** 53n)),
  )
  .map((value) => (Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value)));
const text = fc.string({ unit: "binary", maxLength: 40 }).filter((value) => value.isWellFormed());
const digits = (max: number) => fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: max }).map((all) => all.join(""));
const decimal = fc
  .tuple(fc.boolean(), digits(29), fc.option(digits(9)))
  .map(([negative, before, behind]) => `${negative ? "-" : ""}${before}${behind === null ? "" : `.${behind}`}`);
const longDecimal = fc.oneof(
  decimal,
  fc.tuple(digits(60), digits(30)).map(([before, behind]) => `${before}.${behind}`),
  fc.tuple(decimal, fc.integer({ min: -40, max: 40 })).map(([value, exponent]) => `${value}e${exponent}`),
);
const json = fc.letrec<{ value: FeatureValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.boolean(),
    fc.integer(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 70n }),
    fc.double({ noDefaultInfinity: true, noNaN: true }).filter((value) => !Number.isInteger(value)),
    text,
    fc.array(fc.oneof(fc.constant(null), tie("value")), { maxLength: 3 }),
    fc.dictionary(text, fc.oneof(fc.constant(null), tie("value")), { maxKeys: 3 }),
  ),
})).value as fc.Arbitrary<FeatureValue>;

const PLAIN: readonly TypedValues[] = [
  { dtype: primitive(PrimitiveType.INT64), values: int64 },
  { dtype: primitive(PrimitiveType.FLOAT64), values: fc.oneof(fc.double(), fc.constantFrom(Number.NaN, -0, Infinity, -Infinity, 5e-324)) },
  { dtype: primitive(PrimitiveType.STRING), values: text },
  { dtype: primitive(PrimitiveType.BOOL), values: fc.boolean() },
  { dtype: primitive(PrimitiveType.BYTES), values: fc.uint8Array({ maxLength: 30 }) as fc.Arbitrary<Uint8Array> },
  { dtype: primitive(PrimitiveType.DATE), values: date },
  { dtype: primitive(PrimitiveType.DATETIME), values: fc.tuple(date, time).map(([day, clock]) => `${day}T${clock}Z`) },
  { dtype: primitive(PrimitiveType.TIMEDELTA), values: int64 },
  { dtype: primitive(PrimitiveType.DECIMAL), values: decimal },
  { dtype: primitive(PrimitiveType.DECIMAL), values: longDecimal },
  { dtype: primitive(PrimitiveType.JSON), values: json },
  {
    dtype: create(DataTypeSchema, { kind: { case: "enum", value: { name: "Color", base: PrimitiveType.STRING, members: [] } } }),
    values: fc.constantFrom("red", "green"),
  },
];

const typed = fc.letrec<{ any: TypedValues }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(...PLAIN),
    tie("any").map(({ dtype, values }) => ({
      dtype: create(DataTypeSchema, { kind: { case: "list", value: { element: dtype, elementNullable: true, set: false } } }),
      values: fc.array(fc.option(values), { maxLength: 6 }) as fc.Arbitrary<FeatureValue>,
    })),
    fc.array(tie("any"), { minLength: 1, maxLength: 3 }).map((parts) => ({
      dtype: create(DataTypeSchema, {
        kind: {
          case: "struct",
          value: { name: "Part", fields: parts.map(({ dtype }, at) => ({ name: `field ${at}"'`, dtype, nullable: true })) },
        },
      }),
      values: fc
        .tuple(...parts.map(({ values }) => fc.option(values)))
        .map((all) => Object.fromEntries(all.map((value, at) => [`field ${at}"'`, value as FeatureValue]))),
    })),
  ),
})).any;

/** Tables of one to six columns and up to `most` rows, with nulls everywhere. */
export function randomTables(most: number): fc.Arbitrary<RandomTable> {
  return fc.tuple(fc.array(typed, { minLength: 1, maxLength: 6 }), fc.integer({ min: 0, max: most })).chain(([types, rows]) =>
    fc.tuple(...types.map(({ values }) => fc.array(fc.option(values), { minLength: rows, maxLength: rows }))).map((values) => ({
      columns: types.map(({ dtype }, at) => ({ name: at % 2 ? `ns.feature_${at}` : `Größe "${at}"`, dtype })),
      rows,
      values: values as FeatureValue[][],
    })),
  );
}

/** A decimal's digits without those that mean nothing, by arithmetic. */
export function sameDecimal(value: string): string {
  const [, sign = "", before = "", behind = "", exponent = "0"] = /^(-?)(\d*)\.?(\d*)(?:e(-?\d+))?$/.exec(value) ?? [];
  let units = BigInt(before + behind || "0");
  let scale = behind.length - Number(exponent);
  if (units === 0n) return "0";
  for (; scale < 0; scale++) units *= 10n;
  for (; scale > 0 && units % 10n === 0n; scale--) units /= 10n;
  const all = units.toString().padStart(scale + 1, "0");
  return `${sign}${all.slice(0, all.length - scale)}${scale === 0 ? "" : `.${all.slice(all.length - scale)}`}`;
}

/** The value as it comes back: decimals without zeros that mean nothing. */
export function comesBack(value: FeatureValue, dtype: DataType): FeatureValue {
  const { kind } = dtype;
  if (value === null) return null;
  if (kind.case === "list") return (value as FeatureValue[]).map((item) => comesBack(item, kind.value.element as DataType));
  if (kind.case === "struct")
    return Object.fromEntries(
      kind.value.fields.map(({ name, dtype: type }) => [
        name,
        comesBack((value as Record<string, FeatureValue>)[name] ?? null, type as DataType),
      ]),
    );
  return kind.case === "primitive" && kind.value === PrimitiveType.DECIMAL ? sameDecimal(value as string) : value;
}

/** A value as `READER` says it. */
export function asPythonSays(value: FeatureValue, dtype: DataType): unknown {
  const { kind } = dtype;
  if (value === null) return null;
  if (kind.case === "list") return (value as FeatureValue[]).map((item) => asPythonSays(item, kind.value.element as DataType));
  if (kind.case === "struct")
    return kind.value.fields.map(({ name, dtype: type }) => [
      name,
      asPythonSays((value as Record<string, FeatureValue>)[name] ?? null, type as DataType),
    ]);
  switch (kind.case === "primitive" ? kind.value : PrimitiveType.STRING) {
    case PrimitiveType.INT64:
    case PrimitiveType.TIMEDELTA:
      return `int ${value}`;
    case PrimitiveType.FLOAT64:
      return `float ${Buffer.from(new Float64Array([value as number]).buffer).toString("hex")}`;
    case PrimitiveType.BYTES:
      return `bytes ${Buffer.from(value as Uint8Array).toString("hex")}`;
    case PrimitiveType.BOOL:
      return value;
    case PrimitiveType.DATE:
      return `date ${value}`;
    case PrimitiveType.DATETIME:
      return `instant ${value}`;
    case PrimitiveType.DECIMAL:
      return `decimal ${sameDecimal(value as string)}`;
    case PrimitiveType.JSON:
      return `json ${jsonAsPythonSays(value)}`;
    default:
      return `text ${value}`;
  }
}

function jsonAsPythonSays(value: FeatureValue): string {
  if (typeof value === "number" && !Number.isInteger(value)) return `f${Buffer.from(new Float64Array([value]).buffer).toString("hex")}`;
  if (Array.isArray(value)) return `[${value.map(jsonAsPythonSays).join()}]`;
  if (value !== null && typeof value === "object")
    return `{${Object.entries(value as Record<string, FeatureValue>)
      .map(([name, item]) => `${Buffer.from(name).toString("hex")}:${jsonAsPythonSays(item)}`)
      .sort()
      .join()}}`;
  return typeof value === "string" ? `s${Buffer.from(value).toString("hex")}` : String(value);
}

/** The type of a column as pyarrow names it. */
export function arrowType(dtype: DataType): RegExp {
  const name = ({ kind }: DataType): string => {
    if (kind.case === "list") return `list<\\w+: ${name(kind.value.element as DataType)}>`;
    if (kind.case === "struct")
      return `struct<${kind.value.fields.map((field) => `${field.name}: ${name(field.dtype as DataType)}`).join(", ")}>`;
    const names: Partial<Record<PrimitiveType, string>> = {
      [PrimitiveType.INT64]: "int64",
      [PrimitiveType.TIMEDELTA]: "int64",
      [PrimitiveType.FLOAT64]: "double",
      [PrimitiveType.BOOL]: "bool",
      [PrimitiveType.BYTES]: "binary",
      [PrimitiveType.DATE]: "date32\\[day\\]",
      [PrimitiveType.DATETIME]: "timestamp\\[us, tz=UTC\\]",
      [PrimitiveType.DECIMAL]: "(decimal128\\(38, 9\\)|string)",
      [PrimitiveType.JSON]: "(string|extension<arrow\\.json>)",
    };
    return names[kind.case === "primitive" ? kind.value : PrimitiveType.STRING] ?? "string";
  };
  return new RegExp(`^${name(dtype)}$`);
}

/**
 * A program that reads Parquet files with pyarrow: for each path of stdin a line of JSON with the
 * types and the values of its columns. `kinds`, behind the path, says which text is what.
 */
export const READER = `
import base64, datetime, decimal, json, struct, sys
import pyarrow.parquet

def said_json(value):
    if isinstance(value, float): return "f" + struct.pack("<d", value).hex()
    if isinstance(value, list): return "[" + ",".join(map(said_json, value)) + "]"
    if isinstance(value, dict): return "{" + ",".join(sorted(k.encode().hex() + ":" + said_json(v) for k, v in value.items())) + "}"
    if isinstance(value, str): return "s" + value.encode().hex()
    return {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)

def plain(text):
    value = decimal.Decimal(text)
    if value == 0: return "0"
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text

def said(value, kind):
    if value is None: return None
    if isinstance(kind, list): return [said(item, kind[0]) for item in value]
    if isinstance(kind, dict): return [[name, said(value[name], part)] for name, part in kind.items()]
    if kind == "json": return "json " + said_json(json.loads(value))
    if kind == "decimal": return "decimal " + plain(value)
    if isinstance(value, bool): return value
    if isinstance(value, int): return "int " + str(value)
    if isinstance(value, float): return "float " + struct.pack("<d", value).hex()
    if isinstance(value, bytes): return "bytes " + value.hex()
    if isinstance(value, datetime.datetime):
        return "instant %04d-%s" % (value.year, value.strftime("%m-%dT%H:%M:%S.%fZ"))
    if isinstance(value, datetime.date): return "date %04d-%02d-%02d" % (value.year, value.month, value.day)
    return "text " + value

decimal.getcontext().prec = 1000
for line in sys.stdin:
    path, kinds = json.loads(line)
    table = pyarrow.parquet.read_table(path)
    columns = [[said(value, kind) for value in table.column(at).to_pylist()] for at, kind in enumerate(kinds)]
    print(json.dumps({"names": table.column_names, "types": [str(field.type) for field in table.schema], "columns": columns}))
`;

/** What kinds of text a column holds, for `READER`. */
export function kindsOf({ kind }: DataType): unknown {
  if (kind.case === "list") return [kindsOf(kind.value.element as DataType)];
  if (kind.case === "struct") return Object.fromEntries(kind.value.fields.map((field) => [field.name, kindsOf(field.dtype as DataType)]));
  if (kind.case === "primitive" && kind.value === PrimitiveType.JSON) return "json";
  return kind.case === "primitive" && kind.value === PrimitiveType.DECIMAL ? "decimal" : "plain";
}
