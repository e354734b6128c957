/**
 * Random rows on the bounds of windows and a microsecond beside them, aggregations of them, and
 * what Python makes of the same rows one by one.
 */

import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import type { Expression } from "../../../../gen/svc/v1/graph_pb.ts";
import { type DataType, DataTypeSchema } from "../../../../gen/svc/v1/value_pb.ts";
import { AGGREGATIONS } from "../../../../src/domain/expressions/aggregations.ts";
import { toProtoValue } from "../../../../src/domain/proto-value.ts";
import { formatMicros, parseInstant } from "../../../../src/domain/timestamp.ts";
import { encodeStored, type FeatureValue } from "../../../../src/domain/value.ts";
import { createSqlSources } from "../../../../src/server/sql/create-sources.ts";
import { TempFolder } from "../../../harness/running-server.ts";
import { anyPython } from "../../python/project.ts";
import {
  agg,
  aggBy,
  aggWith,
  type FeatureSpec,
  featureClass,
  fn,
  graph,
  lit,
  primitive,
  queryNow,
  type ScalarSpec,
  sql,
  type TypeSpec,
  windowStart,
} from "../graphs.ts";
import { pick } from "../random-values.ts";
import { World } from "../worlds.ts";

/** Windows in seconds. */
export const WINDOWS = [1, 3_600, 86_400, 604_800, 2_592_000] as const;
/** Keys of users. */
export const USERS = [1, 2, 3];
const FIRST = -62_135_596_800_000_000n;
const LAST = 253_402_300_799_999_999n;

/**
 * Nows: an ordinary one, days on which clocks change in Europe and America, the epoch, and the ends
 * of the calendar.
 */
const NOWS = [
  "2024-05-01T12:00:00Z",
  "2024-03-31T01:00:00Z",
  "2024-10-27T01:00:00.000001Z",
  "2024-03-10T07:00:00Z",
  "2024-11-03T05:59:59.999999Z",
  "1970-01-01T00:00:00Z",
  "1969-12-31T23:59:59.999999Z",
  "1900-03-01T00:00:00.5Z",
  "2000-02-29T23:59:59Z",
  "9999-12-31T23:59:59.999998Z",
  "0001-01-01T00:00:01.000001Z",
].map((text) => parseInstant(text)?.micros as bigint);

/**
 * Columns: the type, and what may stand in them, as the database has it. Sums of the floats are
 * exact in any order.
 */
const COLUMNS = {
  i: { type: "int", pool: [0, 1, -7, 42, 2n ** 53n + 1n, 2n ** 62n, -(2n ** 62n)] },
  n: { type: "int", pool: [0, 1, 2, 3, -4, 100] },
  f: { type: "float", pool: [0, 0.5, -1.25, 1024.75, 3, 2 ** 40] },
  d: { type: "decimal", pool: ["0", "1.10", "1.1", "-2", "0.0000001", "12345678901234567890.12", "-0.5"] },
  b: { type: "bool", pool: [true, false] },
  s: { type: "str", pool: ["", "a", "B", "é", "\uffee", "😀", "10", "9"] },
  day: { type: "date", pool: ["0001-01-01", "1969-12-31", "2024-02-29", "9999-12-31"] },
  t: { type: "datetime", pool: ["1969-12-31T23:59:59.999999Z", "2024-03-31T01:30:00.000000Z", "0001-01-01T00:00:00.000000Z"] },
} as const satisfies Record<string, { readonly type: TypeSpec; readonly pool: readonly FeatureValue[] }>;
type Column = keyof typeof COLUMNS;
/** Names of the columns. */
export const NAMES = Object.keys(COLUMNS) as Column[];

const listOfType = (element: DataType): DataType => create(DataTypeSchema, { kind: { case: "list", value: { element } } });
const listOf = (element: TypeSpec): DataType => listOfType(primitive(element as "int"));

/** The arguments of aggregations that have some: what rows are chosen by, and constants. */
const ARGUMENTS: Readonly<Record<string, readonly [key: Column | undefined, ...constants: FeatureValue[]]>> = {
  approx_percentile: [undefined, 0.7],
  approx_top_k: [undefined, 2],
  min_by: ["f"],
  max_by: ["d"],
  min_by_n: ["i", 3],
  max_by_n: ["s", 2],
};

/** The type of what an aggregation gives of a column; undefined where there is none. */
function resultOf(name: string, type: "int" | "float" | "decimal" | "bool" | "str" | "date" | "datetime"): TypeSpec | undefined {
  const isNumber = type === "int" || type === "float";
  switch (name) {
    case "count":
    case "n_unique":
      return "int";
    case "sum":
      return type === "bool" ? "int" : isNumber || type === "decimal" ? type : undefined;
    case "min":
    case "max":
      return type === "bool" ? undefined : `${type}?`;
    case "mean":
      return isNumber || type === "bool" ? "float?" : undefined;
    case "median":
    case "std":
    case "var":
      return isNumber ? "float?" : undefined;
    case "any":
    case "all":
      return type === "bool" ? "bool" : undefined;
    case "first":
    case "last":
      return `${type}?`;
    case "array_agg":
    case "approx_top_k":
    case "min_by_n":
    case "max_by_n":
      return listOf(type);
    case "approx_count_distinct":
      return "int";
    case "approx_percentile":
      return isNumber ? "float?" : undefined;
    case "min_by":
    case "max_by":
      return `${type}?`;
    default:
      throw new Error(`${name} is new: say what it gives`);
  }
}

const listed = (values: readonly number[]): Expression => {
  const list = toProtoValue([]);
  if (list.kind.case === "listValue") list.kind.value.values = values.map((value) => toProtoValue(value, primitive("int")));
  const made = lit(0);
  made.node = { case: "literal", value: list };
  return made;
};

/** Conditions, and what they are in Python, where null is not true. */
const CONDITIONS: readonly (readonly [Expression | undefined, string])[] = [
  [undefined, "True"],
  [fn("gt", "n", lit(1)), "n is not None and n > 1"],
  [fn("not", fn("gt", "n", lit(1))), "n is not None and not n > 1"],
  [fn("or", fn("is_null", "n"), fn("eq", "b", lit(true))), "n is None or b is True"],
  [fn("and", fn("ne", "s", lit("a")), fn("le", "f", lit(3))), "s is not None and f is not None and s != 'a' and f <= 3"],
  [fn("is_in", "n", listed([0, 2, 100])), "n in (0, 2, 100)"],
  [fn("not", fn("is_null", "d")), "d is not None"],
];

/** A row of a transaction. */
export interface Row {
  readonly id: number;
  readonly user: number | null;
  /** Microseconds since 1970. */
  readonly at: bigint | null;
  readonly values: Readonly<Record<Column, FeatureValue>>;
}

/** A windowed feature. */
export interface Asked {
  readonly name: string;
  readonly column: Column | undefined;
  readonly type: TypeSpec;
  /** What rows are grouped by; empty = nothing. */
  readonly group: readonly Column[];
  readonly lower: "gt" | "ge";
  readonly upper: "lt" | "le" | "";
  readonly condition: number;
}

/** Rows, features over them, and the time of the query. */
export interface RandomWorld {
  readonly isTimed: boolean;
  readonly now: bigint;
  readonly rows: readonly Row[];
  readonly asked: readonly Asked[];
}

/** Columns that rows are grouped by. */
const GROUPS: readonly (readonly Column[])[] = [["n"], ["s"], ["b", "day"], ["d"], ["i", "t", "b"]];

/** The type of the aggregates of groups. */
function grouped(type: TypeSpec, columns: readonly Column[]): TypeSpec {
  if (columns.length === 0) return type;
  const isNullable = typeof type === "string" && type.endsWith("?");
  const fields = [
    ...columns.map((name) => ({ name, dtype: primitive(COLUMNS[name].type), nullable: true })),
    { name: "value", dtype: typeof type === "string" ? primitive(type.replace("?", "") as "int") : type, nullable: isNullable },
  ];
  return listOfType(create(DataTypeSchema, { kind: { case: "struct", value: { name: "Group", fields } } }));
}

/** Every aggregation of every column that has it. */
const POSSIBLE = [...AGGREGATIONS.keys()].flatMap((name) => [
  ...(name === "count" ? [{ name, column: undefined, type: "int" as TypeSpec }] : []),
  ...NAMES.flatMap((column) => {
    const type = resultOf(name, COLUMNS[column].type);
    return type === undefined ? [] : [{ name, column, type }];
  }),
]);

/** A random world; its number chooses time and aggregations. */
export function randomWorld(random: () => number, at: number): RandomWorld {
  const now = NOWS[at % NOWS.length] as bigint;
  const rows = Array.from({ length: 12 + Math.floor(random() * 20) }, (_, id): Row => {
    const window = BigInt(pick(random, WINDOWS)) * 1_000_000n;
    const beside = BigInt(pick(random, [-1, 0, 1]));
    const chance = random();
    const moment =
      chance < 0.4
        ? now - window + beside
        : chance < 0.7
          ? now + beside
          : chance < 0.95
            ? now - BigInt(Math.floor(random() * 1.2 * Number(window)))
            : null;
    return {
      id,
      user: random() < 0.05 ? null : pick(random, USERS),
      at: moment !== null && (moment < FIRST || moment > LAST) ? now : moment,
      values: Object.fromEntries(
        NAMES.map((one) => [one, random() < 0.2 ? null : pick<FeatureValue>(random, COLUMNS[one].pool)]),
      ) as Row["values"],
    };
  });
  const asked = Array.from(
    { length: 14 },
    (_, nth): Asked => ({
      ...(POSSIBLE[(at * 14 + nth) % POSSIBLE.length] as (typeof POSSIBLE)[number]),
      group: random() < 0.3 ? pick(random, GROUPS) : [],
      lower: pick(random, ["gt", "ge"]),
      upper: pick(random, ["lt", "le", ""]),
      condition: random() < 0.4 ? 0 : Math.floor(random() * CONDITIONS.length),
    }),
  );
  return { isTimed: random() < 0.5, now, rows, asked };
}

/** A time as people write it into a text column: the same moment, in one of several spellings. */
function spelled(micros: bigint, nth: number): string {
  const text = formatMicros(micros);
  const shifted = (hours: number, minutes: number, offset: string) => {
    const moved = micros + BigInt(hours * 60 + minutes) * 60_000_000n;
    return moved < FIRST || moved > LAST ? text : formatMicros(moved).replace("Z", offset);
  };
  switch (nth % 8) {
    case 6:
      return ` ${text.replace(/(:00)?\.0*Z$/, "Z")}`;
    case 7:
      return text.replace(/(:00)?\.0*Z$/, "Z");
    case 0:
      return text;
    case 1:
      return text.replace("T", " ").replace("Z", "");
    case 2:
      return text.replace("Z", "+00:00");
    case 3:
      return shifted(2, 0, "+02:00");
    case 4:
      return shifted(-5, -30, "-05:30").replace("T", " ");
    default:
      return text.replace(/\.?0*Z$/, "Z");
  }
}

/** The world, with its rows in a database. `kept` says how windows are kept, by number of the feature and seconds. */
export function make(
  { isTimed, rows, asked }: RandomWorld,
  kept: (nth: number, seconds: number) => Partial<ScalarSpec> = () => ({}),
): World & AsyncDisposable {
  const features: Record<string, FeatureSpec> = {};
  for (const [nth, { name, column, type, group, lower, upper, condition }] of asked.entries()) {
    const filters = [fn(lower, "at", windowStart), ...(upper === "" ? [] : [fn(upper, "at", queryNow)])];
    const given = CONDITIONS[condition]?.[0];
    for (const seconds of WINDOWS) {
      const aggregation = agg(name, "txns", column, ...filters, ...(given ? [given] : []));
      const expression = aggWith(aggregation, ...(ARGUMENTS[name] ?? [undefined]));
      features[`w${nth}__${seconds}__`] = {
        type: grouped(type, group),
        window: `${seconds}s`,
        expression: group.length > 0 ? aggBy(expression, group) : expression,
        ...kept(nth, seconds),
      };
    }
  }
  const made = graph(
    [
      featureClass("txn", {
        id: "int",
        user_id: "int?",
        at: { type: "datetime?", time: isTimed },
        ...Object.fromEntries(NAMES.map((one) => [one, `${COLUMNS[one].type}?` as const])),
      }),
      featureClass("user", { id: "int", txns: { many: "txn", on: [["id", "user_id"]] }, ...features }),
    ],
    [
      sql("txns", "select * from txns", {
        "txn.id": "id",
        "txn.user_id": "user_id",
        "txn.at": "at",
        ...Object.fromEntries(NAMES.map((one) => [`txn.${one}`, one])),
      }),
    ],
  );
  const folder = new TempFolder();
  const path = join(folder.path, "txns.db");
  using db = new Database(path);
  db.run(
    "create table txns (id integer primary key, user_id integer, at text, i integer, n integer, f real, d text, b, s text, day text, t text)",
  );
  const insert = db.prepare(`insert into txns values (${Array.from({ length: 11 }, () => "?").join(", ")})`);
  db.transaction(() => {
    for (const { id, user, at, values } of rows)
      insert.run(id, user, at === null ? null : spelled(at, id), ...(NAMES.map((one) => values[one]) as never[]));
  })();
  const sources = createSqlSources({ declared: [], env: { DB_SQLITE_PATH: path } });
  return Object.assign(new World(made, { sources: [sources.get("db")] }), {
    [Symbol.asyncDispose]: async () => {
      await sources.close();
      folder[Symbol.dispose]();
    },
  });
}

/**
 * What Python makes of the rows: exact fractions for means and deviations, Decimal for decimals,
 * code points for text.
 */
const ORACLE = `
import json, math, statistics, sys
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 200

def untag(value):
    return int(value["$int"]) if isinstance(value, dict) else value

def tag(value):
    if isinstance(value, list):
        return [tag(one) for one in value]
    if isinstance(value, dict):
        return {name: tag(one) for name, one in value.items()}
    if isinstance(value, Decimal):
        return format(value, "f")
    return {"$int": str(value)} if type(value) is int and abs(value) >= 2**53 else value

def deviation(values, squared):
    if len(values) < 2:
        return None
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    found = sum((value - mean) ** 2 for value in exact) / (len(exact) - 1)
    if squared:
        return float(found)
    scaled = Decimal(found.numerator) / Decimal(found.denominator)
    return float(scaled.sqrt())

def aggregate(name, values, kind):
    known = [value for value in values if value is not None]
    if name == "count":
        return len(known)
    if name == "sum":
        if kind == "decimal":
            return sum(known, Decimal(0))
        total = math.fsum(known) if kind == "float" else sum(map(int, known))
        return total if kind == "float" or -2**63 <= total < 2**63 else "error"
    if name in ("min", "max"):
        return (min if name == "min" else max)(known) if known else None
    if name == "mean":
        return float(sum(map(Fraction, known)) / len(known)) if known else None
    if name == "median":
        if not known:
            return None
        return float(statistics.median([Fraction(value) for value in known]))
    if name in ("std", "var"):
        return deviation(known, name == "var")
    if name in ("any", "all"):
        return any(known) if name == "any" else all(known)
    if name in ("first", "last"):
        return values[0 if name == "first" else -1] if values else None
    return len(set(known)) if name in ("n_unique", "approx_count_distinct") else known

def by_key(name, pairs):
    known = sorted(((key, value) for key, value in pairs if key is not None and value is not None), key=lambda pair: (pair[1], str(pair[1])))
    found = [value for key, value in sorted(known, key=lambda pair: pair[0], reverse=name.startswith("max"))]
    if name.endswith("_n"):
        return found[:3 if name == "min_by_n" else 2]
    return found[0] if found else None

def sketched(name, values):
    known = sorted(value.normalize() if isinstance(value, Decimal) else value for value in values if value is not None)
    if name == "approx_percentile":
        return float(known[max(0, math.ceil(Fraction(7, 10) * len(known)) - 1)]) if known else None
    return sorted(dict.fromkeys(known), key=lambda value: -known.count(value))[:2]

KEYS = {"min_by": "f", "max_by": "d", "min_by_n": "i", "max_by_n": "s"}

def canonical(value):
    return value.normalize() + 0 if isinstance(value, Decimal) else value

def in_order(values):
    return [(value is not None, "" if value is None else value) for value in values]

def whole(name, values, kind):
    if name in KEYS:
        return by_key(name, values)
    if name in ("approx_percentile", "approx_top_k"):
        return sketched(name, values)
    return aggregate(name, values, kind)

def answer(world):
    first, now = world["first"], int(world["now"])
    rows = []
    for row in world["rows"]:
        row = {name: untag(value) for name, value in row.items()}
        row["d"] = None if row["d"] is None else Decimal(row["d"])
        row["at"] = None if row["at"] is None else int(row["at"])
        rows.append(row)
    if world["timed"]:
        rows = [row for row in rows if row["at"] is None or row["at"] <= now]
    result = []
    for asked in world["asked"]:
        passes = eval("lambda i, n, f, d, b, s, **rest: " + asked["condition"])
        for seconds in world["windows"]:
            start = max(int(first), now - seconds * 1_000_000)
            found = []
            for user in world["users"]:
                groups = {}
                is_ordered = world["timed"] and asked["name"] in ("first", "last", "array_agg")
                for row in sorted(rows, key=lambda row: row["at"] or 0) if is_ordered else rows:
                    at = row["at"]
                    if row["user"] != user or at is None:
                        continue
                    if at < start or (at == start and asked["lower"] == "gt"):
                        continue
                    if asked["upper"] and (at > now or (at == now and asked["upper"] == "lt")):
                        continue
                    if passes(**row):
                        value = 1 if asked["column"] is None else row[asked["column"]]
                        values = groups.setdefault(tuple(canonical(row[column]) for column in asked["group"]), [])
                        values.append((row[KEYS[asked["name"]]], value) if asked["name"] in KEYS else value)
                if not asked["group"]:
                    found.append(tag(whole(asked["name"], groups.get((), []), asked["kind"])))
                    continue
                structs = []
                for group in sorted(groups, key=in_order):
                    structs.append({**dict(zip(asked["group"], group)), "value": whole(asked["name"], groups[group], asked["kind"])})
                found.append("error" if any(struct["value"] == "error" for struct in structs) else tag(structs))
            result.append(found)
    return result

print(json.dumps([answer(world) for world in json.load(sys.stdin)]))
`;

/** What Python gives for every world, every feature and window of it, and every user. */
export async function oracle(worlds: readonly RandomWorld[]): Promise<unknown[][][]> {
  const sent = worlds.map(({ isTimed, now, rows, asked }) => ({
    timed: isTimed,
    now: String(now),
    first: String(FIRST),
    users: USERS,
    windows: WINDOWS,
    rows: rows.map(({ user, at, values }) => ({
      user,
      at: at === null ? null : String(at),
      ...Object.fromEntries(NAMES.map((one) => [one, JSON.parse(encodeStored(values[one]))])),
    })),
    asked: asked.map(({ condition, column = null, ...rest }) => ({
      ...rest,
      column,
      kind: column === null ? "" : COLUMNS[column].type,
      condition: CONDITIONS[condition]?.[1],
      type: undefined,
    })),
  }));
  const child = Bun.spawnSync([(await anyPython()) as string, "-I", "-X", "utf8", "-c", ORACLE], {
    stdin: Buffer.from(JSON.stringify(sent)),
  });
  expect(child.stderr.toString()).toBe("");
  return JSON.parse(child.stdout.toString());
}

/** Values as text, of groups one for each; deviations of floats, which are not exact, to twelve digits. */
export function shown(value: FeatureValue, asked: Asked): unknown {
  const { group, name, column } = asked;
  if (group.length > 0 && Array.isArray(value))
    return value.map((struct) => {
      const { value: own = null, ...columns } = struct as { [field: string]: FeatureValue };
      return [encodeStored(columns), shown(own, { ...asked, group: [] })];
    });
  const isRounded = column === "f" && (name === "std" || name === "var");
  return isRounded && typeof value === "number" ? value.toPrecision(12) : encodeStored(value);
}
