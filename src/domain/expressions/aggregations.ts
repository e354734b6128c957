/** The aggregations of the function table, for the rows of `_.txns[_.amount, ...]`. */

import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { DistinctSketch } from "../sketches/distinct.ts";
import { ExtremeRows, MAX_ROWS } from "../sketches/extreme-rows.ts";
import { HeavyHitters } from "../sketches/heavy-hitters.ts";
import { QuantileSketch } from "../sketches/quantiles.ts";
import { compareAny } from "../sketches/total-order.ts";
import type { FeatureValue } from "../value.ts";
import { average, deviationOfInts, extremeOf, total, variance, varianceOfInts } from "./aggregate.ts";
import { compareValues, identity } from "./compare.ts";
import { addDecimal, canonicalDecimal, compareDecimal } from "./decimal.ts";
import type { Int } from "./definition.ts";
import { divInt } from "./integer.ts";
import { checkedLength, meanLength, totalLength } from "./length.ts";
import { type Match, matchSignature, NULL_TYPE, parseSignature, type Signature } from "./types.ts";

/**
 * A computation of one value from those of the chosen child rows; null values are left out before
 * unless `keepsNulls`. `keys` are what the rows are ordered by, one for each value, where there is
 * such a thing.
 */
export type Fold = (values: readonly FeatureValue[], keys?: readonly FeatureValue[]) => FeatureValue;

/** What a fold is chosen for, beside the values. */
interface Use {
  readonly column: DataType;
  readonly key: DataType;
  readonly keys: readonly FeatureValue[];
  readonly constants: readonly FeatureValue[];
}

/** A computation of the table. */
type TableFold = (values: readonly FeatureValue[], use: Use) => FeatureValue;

/** A constant argument of an aggregation. */
export interface ConstantParameter {
  readonly name: string;
  /** What is wrong with a value, in words; undefined when nothing is. */
  readonly problem: (value: FeatureValue) => string | undefined;
}

/** An aggregation of the table. */
export interface AggregationDefinition {
  readonly name: string;
  /** One sentence. */
  readonly doc: string;
  readonly example: string;
  /** Whether it needs a column; `count` does without. */
  readonly needsColumn: boolean;
  /** Whether null values of the column are given to the fold. */
  readonly keepsNulls: boolean;
  /**
   * Whether the order of the rows matters: by feature time when the class has one, else as they
   * come.
   */
  readonly isOrdered: boolean;
  /**
   * Whether the first argument is an expression of the row, `key`, by which rows are chosen: the
   * second parameter of its signatures. Rows in which it is null are left out.
   */
  readonly needsKey: boolean;
  /** The constant arguments behind it, all of them needed. */
  readonly constants: readonly ConstantParameter[];
  readonly overloads: readonly { readonly signature: Signature; readonly fold: TableFold }[];
}

interface Entry {
  readonly doc: string;
  readonly example?: string;
  readonly needsColumn?: boolean;
  readonly keepsNulls?: boolean;
  readonly isOrdered?: boolean;
  readonly needsKey?: boolean;
  readonly constants?: readonly ConstantParameter[];
  readonly overloads: readonly (readonly [signature: string, fold: TableFold])[];
}

const ORDERED = ["int", "float", "str", "date", "datetime", "timedelta"] as const;

const extremes = (sign: 1 | -1): (readonly [string, TableFold])[] => [
  ...ORDERED.map((type) => [`${type} -> ${type}?`, (values: readonly FeatureValue[]) => extremeOf(values, sign)] as const),
  [
    "decimal -> decimal?",
    (values) =>
      values.reduce<FeatureValue>(
        (best, value) => (best === null || compareDecimal(value as string, best as string) * sign > 0 ? value : best),
        null,
      ),
  ],
];

const wholeNumber = (name: string, most: number): ConstantParameter => ({
  name,
  problem: (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most
      ? undefined
      : `${name} must be a whole number from 1 to ${most}`,
});

const QUANTILE: ConstantParameter = {
  name: "quantile",
  problem: (value) =>
    typeof value === "number" && value >= 0 && value <= 1 ? undefined : "quantile must be a number from 0 to 1, such as 0.95",
};

/** Overloads that choose rows by a key, for keys of each type that has an order. */
const byKey = (sign: 1 | -1, result: "T?" | "list[T]"): (readonly [string, TableFold])[] =>
  [...ORDERED, "decimal" as const].map((type) => [
    `T, ${type} -> ${result}`,
    (values, { column, key, keys, constants: [most = 1] }) => {
      const rows = new ExtremeRows(sign, most as number, keyOrder(key), valueOrder(column));
      for (const [index, value] of values.entries()) rows.add(value, keys[index] as FeatureValue);
      return result === "T?" ? (rows.result()[0] ?? null) : rows.result();
    },
  ]);

const isDecimal = (type: DataType | undefined): boolean => type?.kind.case === "primitive" && type.kind.value === PrimitiveType.DECIMAL;

/** The order of keys of a type; zero for those that are equal, whatever their digits. */
export function keyOrder(type: DataType | undefined): (a: FeatureValue, b: FeatureValue) => number {
  return isDecimal(type) ? (a, b) => compareDecimal(a as string, b as string) : compareValues;
}

/** A total order of the values of a type; zero for the same values alone. */
export function valueOrder(type: DataType | undefined): (a: FeatureValue, b: FeatureValue) => number {
  return isDecimal(type) ? (a, b) => compareDecimal(a as string, b as string) || compareAny(a, b) : compareAny;
}

/**
 * The form of a value that is the same for equal values of a type: decimals in as few digits as
 * they need.
 */
export function canonicalForm(type: DataType | undefined): (value: FeatureValue) => FeatureValue {
  return isDecimal(type) ? (value) => addDecimal("0", canonicalDecimal(value as string)) : (value) => value;
}

const TIES = "Of rows with equal keys the one with the lesser value comes first; a NaN is greater than all numbers.";

const ENTRIES: Readonly<Record<string, Entry>> = {
  count: {
    doc: "How many rows; with a column, how many rows in which it is not null.",
    example: "_.txns[_.amount > 1000].count()",
    needsColumn: false,
    overloads: [["any -> int", (values) => values.length]],
  },
  sum: {
    doc: "The sum; 0 of nothing. Of booleans it is how many are true.",
    overloads: [
      ["int -> int", (values) => total(values, "sum")],
      ["float -> float", (values) => total(values, "sum", true)],
      ["decimal -> decimal", (values) => values.reduce<string>((sum, value) => addDecimal(sum, value as string), "0")],
      ["bool -> int", (values) => values.filter((value) => value === true).length],
      ["timedelta -> timedelta", (values) => checkedLength(totalLength(values as readonly Int[]))],
    ],
  },
  min: { doc: "The least value, NaN when there is a NaN; null of nothing.", overloads: extremes(-1) },
  max: { doc: "The greatest value, NaN when there is a NaN; null of nothing.", overloads: extremes(1) },
  mean: {
    doc: "The arithmetic mean; null of nothing.",
    overloads: [
      ["int -> float?", average],
      ["float -> float?", average],
      ["bool -> float?", (values) => average(values.map(Number))],
      ["timedelta -> timedelta?", (values) => (values.length === 0 ? null : meanLength(values as readonly Int[]))],
    ],
  },
  median: {
    doc: "The middle value, or the mean of the two in the middle, NaN when there is a NaN; null of nothing.",
    overloads: [
      ["int -> float?", median],
      ["float -> float?", median],
    ],
  },
  any: {
    doc: "Whether one value is true; false of nothing.",
    example: "_.logins[_.failed].any()",
    overloads: [["bool -> bool", (values) => values.includes(true)]],
  },
  all: {
    doc: "Whether no value is false; true of nothing.",
    example: "_.logins[_.ok].all()",
    overloads: [["bool -> bool", (values) => !values.includes(false)]],
  },
  std: {
    doc: "The standard deviation of a sample; null of fewer than two values.",
    overloads: [
      ["int -> float?", (values) => deviationOfInts(values as readonly Int[])],
      ["float -> float?", (values) => root(variance(values))],
    ],
  },
  var: {
    doc: "The variance of a sample; null of fewer than two values.",
    overloads: [
      ["int -> float?", (values) => varianceOfInts(values as readonly Int[])],
      ["float -> float?", variance],
    ],
  },
  first: {
    doc: "The value of the earliest row by feature time, null too; null of nothing.",
    example: "_.logins[_.at].first()",
    keepsNulls: true,
    isOrdered: true,
    overloads: [["T -> T?", (values) => values[0] ?? null]],
  },
  last: {
    doc: "The value of the latest row by feature time, null too; null of nothing.",
    example: "_.logins[_.at].last()",
    keepsNulls: true,
    isOrdered: true,
    overloads: [["T -> T?", (values) => values.at(-1) ?? null]],
  },
  n_unique: {
    doc: "How many different values; 0 of nothing.",
    example: "_.txns[_.merchant].n_unique()",
    overloads: [
      ["decimal -> int", (values) => new Set(values.map((value) => canonicalDecimal(value as string))).size],
      ["T -> int", (values) => new Set(values.map(identity)).size],
    ],
  },
  array_agg: {
    doc: "The values as a list, in the order of feature time; an empty list of nothing.",
    isOrdered: true,
    overloads: [["T -> list[T]", (values) => [...values]]],
  },
  approx_count_distinct: {
    doc: "How many different values, 0 of nothing: exact up to 256, then an estimate with a standard error of 2.3%.",
    example: "_.txns[_.merchant].approx_count_distinct()",
    overloads: [["T -> int", distinct]],
  },
  approx_percentile: {
    doc:
      "The least value that at least a share of all values, from 0 to 1, do not exceed, NaN when there is a NaN; null of nothing. " +
      "Exact up to 256 values; then its error is at most 1% of the value, where all magnitudes are within a factor of 2^32.",
    example: "_.txns[_.amount].approx_percentile(0.95)",
    constants: [QUANTILE],
    overloads: [
      ["int -> float?", percentile],
      ["float -> float?", percentile],
      ["timedelta -> timedelta?", (values, use) => roundedLength(percentile(values, use))],
    ],
  },
  approx_top_k: {
    doc: "The most frequent values as a list, the most frequent first, of equally frequent ones the least: exact over the rows of a query.",
    example: "_.txns[_.merchant].approx_top_k(5)",
    constants: [wholeNumber("k", 100)],
    overloads: [["T -> list[T]", frequent]],
  },
  min_by: {
    doc: `The value of the row with the least key; null of nothing. ${TIES}`,
    example: "_.txns[_.merchant].min_by(_.amount)",
    needsKey: true,
    overloads: byKey(-1, "T?"),
  },
  max_by: {
    doc: `The value of the row with the greatest key; null of nothing. ${TIES}`,
    example: "_.txns[_.merchant].max_by(_.amount)",
    needsKey: true,
    overloads: byKey(1, "T?"),
  },
  min_by_n: {
    doc: `The values of the rows with the least keys as a list, so many of them, that of the least key first. ${TIES}`,
    example: "_.txns[_.merchant].min_by_n(_.amount, 3)",
    needsKey: true,
    constants: [wholeNumber("n", MAX_ROWS)],
    overloads: byKey(-1, "list[T]"),
  },
  max_by_n: {
    doc: `The values of the rows with the greatest keys as a list, so many of them, that of the greatest key first. ${TIES}`,
    example: "_.txns[_.merchant].max_by_n(_.amount, 3)",
    needsKey: true,
    constants: [wholeNumber("n", MAX_ROWS)],
    overloads: byKey(1, "list[T]"),
  },
};

/** The aggregations by name. */
export const AGGREGATIONS: ReadonlyMap<string, AggregationDefinition> = new Map(
  Object.entries(ENTRIES).map(([name, entry]) => [
    name,
    {
      name,
      doc: entry.doc,
      example: entry.example ?? `_.txns[_.amount].${name}()`,
      needsColumn: entry.needsColumn ?? true,
      keepsNulls: entry.keepsNulls ?? false,
      isOrdered: entry.isOrdered ?? false,
      needsKey: entry.needsKey ?? false,
      constants: entry.constants ?? [],
      overloads: entry.overloads.map(([signature, fold]) => ({ signature: parseSignature(signature), fold })),
    },
  ]),
);

/**
 * The fold for a column of a type, and for keys of a type where there are any; undefined when there
 * is none. Without a column the rows are counted.
 */
export function chooseFold(
  { overloads, needsKey }: AggregationDefinition,
  column: DataType,
  key: DataType = NULL_TYPE,
  constants: readonly FeatureValue[] = [],
): { readonly match: Match; readonly resultNullable: boolean; readonly fold: Fold } | undefined {
  let best: { match: Match; resultNullable: boolean; fold: Fold } | undefined;
  for (const { signature, fold } of overloads) {
    const match = matchSignature(signature, needsKey ? [column, key] : [column]);
    if (match && match.cost < (best?.match.cost ?? Number.POSITIVE_INFINITY))
      best = {
        match,
        resultNullable: signature.resultNullable,
        fold: (values, keys = []) => fold(values, { column, key, keys, constants }),
      };
  }
  return best;
}

/** The use of an aggregation's arguments: `max_by_n(key, n)`. */
export function usageOf({ name, needsKey, constants }: AggregationDefinition): string {
  return `${name}(${[...(needsKey ? ["key"] : []), ...constants.map((constant) => constant.name)].join(", ")})`;
}

function distinct(values: readonly FeatureValue[], { column }: Use): number {
  const [sketch, canonical] = [new DistinctSketch(), canonicalForm(column)];
  for (const value of values) sketch.add(canonical(value));
  return sketch.result();
}

function percentile(values: readonly FeatureValue[], { constants: [quantile] }: Use): number | null {
  const sketch = new QuantileSketch();
  for (const value of values) sketch.add(Number(value));
  return sketch.result(quantile as number);
}

/** A length of whole microseconds; lengths are exact as floats for 285 years. */
export function roundedLength(length: number | null): FeatureValue {
  return length === null ? null : Math.round(length);
}

function frequent(values: readonly FeatureValue[], { column, constants: [most] }: Use): FeatureValue[] {
  const [sketch, canonical] = [new HeavyHitters(valueOrder(column)), canonicalForm(column)];
  for (const value of values) sketch.add(canonical(value));
  return sketch.result(most as number);
}

function root(value: number | null): number | null {
  return value === null ? null : Math.sqrt(value);
}

function median(values: readonly FeatureValue[]): FeatureValue {
  if (values.length === 0) return null;
  if (values.some(Number.isNaN)) return Number.NaN;
  const sorted = (values as readonly Int[]).toSorted(compareValues);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] as Int;
  if (sorted.length % 2 === 1) return Number(upper);
  const lower = sorted[middle - 1] as Int;
  if (typeof lower === "number" && typeof upper === "number") return (lower + upper) / 2;
  return divInt(BigInt(lower) + BigInt(upper), 2n);
}
