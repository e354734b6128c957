/** The aggregations of the function table, for the rows of `_.txns[_.amount, ...]`. */

import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../value.ts";
import { average, deviationOfInts, extremeOf, total, variance, varianceOfInts } from "./aggregate.ts";
import { compareValues, identity } from "./compare.ts";
import { addDecimal, canonicalDecimal, compareDecimal } from "./decimal.ts";
import type { Int } from "./definition.ts";
import { divInt } from "./integer.ts";
import { checkedLength, meanLength, totalLength } from "./length.ts";
import { type Match, matchSignature, parseSignature, type Signature } from "./types.ts";

/**
 * A computation of one value from those of the chosen child rows; null values are left out before
 * unless `keepsNulls`.
 */
export type Fold = (values: readonly FeatureValue[]) => FeatureValue;

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
  readonly overloads: readonly { readonly signature: Signature; readonly fold: Fold }[];
}

interface Entry {
  readonly doc: string;
  readonly example?: string;
  readonly needsColumn?: boolean;
  readonly keepsNulls?: boolean;
  readonly isOrdered?: boolean;
  readonly overloads: readonly (readonly [signature: string, fold: Fold])[];
}

const ORDERED = ["int", "float", "str", "date", "datetime", "timedelta"] as const;

const extremes = (sign: 1 | -1): (readonly [string, Fold])[] => [
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
      overloads: entry.overloads.map(([signature, fold]) => ({ signature: parseSignature(signature), fold })),
    },
  ]),
);

/**
 * The fold for a column of a type; undefined when there is none. Without a column the rows are
 * counted.
 */
export function chooseFold(
  aggregation: AggregationDefinition,
  column: DataType,
): { readonly match: Match; readonly resultNullable: boolean; readonly fold: Fold } | undefined {
  let best: { match: Match; resultNullable: boolean; fold: Fold } | undefined;
  for (const { signature, fold } of aggregation.overloads) {
    const match = matchSignature(signature, [column]);
    if (match && match.cost < (best?.match.cost ?? Number.POSITIVE_INFINITY))
      best = { match, resultNullable: signature.resultNullable, fold };
  }
  return best;
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
