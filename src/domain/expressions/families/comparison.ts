/** `== != < <= > >=` and membership. */

import type { FeatureValue } from "../../value.ts";
import { compareText, compareValues, equalValues } from "../compare.ts";
import { compareDecimal, equalDecimal } from "../decimal.ts";
import { defineFamily, type FunctionEntry } from "../definition.ts";

type Number64 = number | bigint;

function ordering(
  operator: string,
  words: string,
  test: (order: number) => boolean,
  numbers: (a: Number64, b: Number64) => boolean,
): FunctionEntry {
  return {
    doc: `Whether the first is ${words} the second. Text is ordered by code points; comparisons with NaN are false.`,
    example: `_.amount ${operator} 1000`,
    parameters: ["left", "right"],
    overloads: [
      ["int, int -> bool", numbers],
      ["float, float -> bool", numbers],
      ["int, float -> bool", numbers],
      ["float, int -> bool", numbers],
      ["str, str -> bool", (a: string, b: string) => test(compareText(a, b))],
      ["datetime, datetime -> bool", (a: string, b: string) => test(a < b ? -1 : a > b ? 1 : 0)],
      ["date, date -> bool", (a: string, b: string) => test(a < b ? -1 : a > b ? 1 : 0)],
      ["timedelta, timedelta -> bool", numbers],
      ["decimal, decimal -> bool", (a: string, b: string) => test(compareDecimal(a, b))],
    ],
  };
}

/** Comparisons. A null argument gives null. */
export const COMPARISON = defineFamily("comparison", {
  eq: {
    doc: "Whether both are equal; NaN equals nothing. To ask for null use `is_null`.",
    example: '_.kind == "card"',
    parameters: ["left", "right"],
    overloads: [
      ["decimal, decimal -> bool", (a: string, b: string) => compareDecimal(a, b) === 0],
      ["int, float -> bool", equalValues],
      ["float, int -> bool", equalValues],
      ["T, T -> bool", equalValues],
    ],
  },
  ne: {
    doc: "Whether both differ; NaN differs from everything. To ask for null use `is_not_null`.",
    example: '_.kind != "card"',
    parameters: ["left", "right"],
    overloads: [
      ["decimal, decimal -> bool", (a: string, b: string) => compareDecimal(a, b) !== 0],
      ["int, float -> bool", (a: FeatureValue, b: FeatureValue) => !equalValues(a, b)],
      ["float, int -> bool", (a: FeatureValue, b: FeatureValue) => !equalValues(a, b)],
      ["T, T -> bool", (a: FeatureValue, b: FeatureValue) => !equalValues(a, b)],
    ],
  },
  lt: ordering(
    "<",
    "less than",
    (order) => order < 0,
    (a, b) => a < b,
  ),
  le: ordering(
    "<=",
    "less than or equal to",
    (order) => order <= 0,
    (a, b) => a <= b,
  ),
  gt: ordering(
    ">",
    "greater than",
    (order) => order > 0,
    (a, b) => a > b,
  ),
  ge: ordering(
    ">=",
    "greater than or equal to",
    (order) => order >= 0,
    (a, b) => a >= b,
  ),
  between: {
    doc: "Whether a value is not below the second and not above the third.",
    example: "F.between(_.age, 18, 65)",
    parameters: ["value", "low", "high"],
    overloads: [
      ["int, int, int -> bool", isBetween],
      ["float, float, float -> bool", isBetween],
      ["str, str, str -> bool", isBetween],
      ["datetime, datetime, datetime -> bool", isBetween],
      ["date, date, date -> bool", isBetween],
    ],
  },
  is_in: {
    doc: "Whether a list has an element that equals the value.",
    example: 'F.is_in(_.kind, ["card", "cash"])',
    parameters: ["value", "options"],
    overloads: [
      ["decimal, list[decimal] -> bool", (value: string, options: FeatureValue[]) => options.some((item) => equalDecimal(item, value))],
      ["T, list[T] -> bool", (value: FeatureValue, options: FeatureValue[]) => options.some((item) => equalValues(item, value))],
    ],
  },
});

function isBetween(value: FeatureValue, low: FeatureValue, high: FeatureValue): boolean {
  if (Number.isNaN(value) || Number.isNaN(low) || Number.isNaN(high)) return false;
  return compareValues(low, value) <= 0 && compareValues(value, high) <= 0;
}
