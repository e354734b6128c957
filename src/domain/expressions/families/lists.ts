/**
 * Lists. Positions begin with 0; negative ones count from the end. Aggregations pass over elements
 * that are null.
 */

import type { FeatureValue } from "../../value.ts";
import { average, extremeOf, total } from "../aggregate.ts";
import { compareValues, equalValues, identity } from "../compare.ts";
import { equalDecimal } from "../decimal.ts";
import { defineFamily, type Int } from "../definition.ts";
import { textLength } from "../text.ts";

type List = readonly FeatureValue[];

const present = (list: List): FeatureValue[] => list.filter((item) => item !== null);

/** Functions of lists, and those that lists share with text. */
export const LISTS = defineFamily("lists", {
  length: {
    doc: "How many elements a list has, characters a text has, bytes there are.",
    example: "F.length(_.name)",
    parameters: ["value"],
    overloads: [
      ["str -> int", textLength],
      ["bytes -> int", (bytes: Uint8Array) => bytes.length],
      ["list[T] -> int", (list: List) => list.length],
    ],
  },
  cardinality: {
    doc: "How many elements a list has, those that are null too.",
    example: "F.cardinality(_.tags)",
    parameters: ["list"],
    overloads: [["list[T] -> int", (list: List) => list.length]],
  },
  element_at: {
    doc: "The element at a position, 0 being the first and -1 the last; null when there is none.",
    example: "F.element_at(_.scores, 0)",
    parameters: ["list", "index"],
    overloads: [["list[T], int -> T?", (list: List, index: Int) => list.at(Number(index)) ?? null]],
  },
  contains: {
    doc: "Whether a list has an element that equals the second argument, or a text has it in it.",
    example: 'F.contains(_.tags, "new")',
    parameters: ["value", "part"],
    overloads: [
      ["str, str -> bool", (text: string, part: string) => text.includes(part)],
      ["list[decimal], decimal -> bool", (list: List, wanted: FeatureValue) => list.some((item) => equalDecimal(item, wanted))],
      ["list[T], T -> bool", (list: List, wanted: FeatureValue) => list.some((item) => equalValues(item, wanted))],
    ],
  },
  array_distinct: {
    doc: "The elements without repetitions, in the order of their first appearance. NaN equals itself here.",
    example: "F.array_distinct(_.tags)",
    parameters: ["list"],
    overloads: [
      [
        "list[T] -> list[T]",
        (list: List) => {
          const seen = new Set<string>();
          return list.filter((item) => seen.size < seen.add(identity(item)).size);
        },
      ],
    ],
  },
  array_remove: {
    doc: "The elements that do not equal the second argument.",
    example: 'F.array_remove(_.tags, "")',
    parameters: ["list", "unwanted"],
    overloads: [["list[T], T -> list[T]", (list: List, unwanted: FeatureValue) => list.filter((item) => !equalValues(item, unwanted))]],
  },
  remove_nulls: {
    doc: "The elements that are not null.",
    example: "F.remove_nulls(_.scores)",
    parameters: ["list"],
    overloads: [["list[T] -> list[T]", present]],
  },
  head: {
    doc: "The first elements, at most so many.",
    example: "F.head(_.scores, 3)",
    parameters: ["list", "count"],
    overloads: [["list[T], int -> list[T]", (list: List, count: Int) => list.slice(0, Math.max(0, Number(count)))]],
  },
  array_sort: {
    doc: "The elements in ascending order; NaN and then null at the end.",
    example: "F.array_sort(_.scores)",
    parameters: ["list"],
    overloads: (["int", "float", "str", "date", "datetime", "timedelta", "bool"] as const).map(
      (type) =>
        [
          `list[${type}] -> list[${type}]`,
          (list: List) => [...present(list).sort(compareValues), ...list.filter((item) => item === null)],
        ] as const,
    ),
  },
  array_reverse: {
    doc: "The elements from the last to the first.",
    example: "F.array_reverse(_.scores)",
    parameters: ["list"],
    overloads: [["list[T] -> list[T]", (list: List) => [...list].reverse()]],
  },
  array_join: {
    doc: "The texts of a list with a separator between them.",
    example: 'F.array_join(_.tags, ", ")',
    parameters: ["list", "separator"],
    overloads: [["list[str], str -> str", (list: List, separator: string) => present(list).join(separator)]],
  },
  array_sum: {
    doc: "The sum of the elements; 0 for an empty list.",
    example: "F.array_sum(_.amounts)",
    parameters: ["list"],
    overloads: [
      ["list[int] -> int", (list: List) => total(present(list), "array_sum")],
      ["list[float] -> float", (list: List) => total(present(list), "array_sum", true)],
    ],
  },
  array_min: {
    doc: "The least element, NaN when there is a NaN; null for an empty list.",
    example: "F.array_min(_.amounts)",
    parameters: ["list"],
    overloads: (["int", "float", "str", "date", "datetime", "timedelta"] as const).map(
      (type) => [`list[${type}] -> ${type}?`, (list: List) => extremeOf(present(list), -1)] as const,
    ),
  },
  array_max: {
    doc: "The greatest element, NaN when there is a NaN; null for an empty list.",
    example: "F.array_max(_.amounts)",
    parameters: ["list"],
    overloads: (["int", "float", "str", "date", "datetime", "timedelta"] as const).map(
      (type) => [`list[${type}] -> ${type}?`, (list: List) => extremeOf(present(list), 1)] as const,
    ),
  },
  array_mean: {
    doc: "The mean of the elements; null for an empty list.",
    example: "F.array_mean(_.amounts)",
    parameters: ["list"],
    overloads: [
      ["list[int] -> float?", (list: List) => average(present(list))],
      ["list[float] -> float?", (list: List) => average(present(list))],
    ],
  },
});
