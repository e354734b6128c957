/** Mathematics. */

import type { FeatureValue } from "../../value.ts";
import { compareValues } from "../compare.ts";
import { negDecimal } from "../decimal.ts";
import { defineFamily, type Int } from "../definition.ts";
import { EvaluationError } from "../evaluation-error.ts";
import { roundDigits, roundHalfEven } from "../float.ts";
import { negInt, wholeNumber } from "../integer.ts";
import { negLength } from "../length.ts";

/** Mean radius of the earth in kilometres. */
const EARTH_KM = 6371.0088;

function logarithm(name: string, base: (value: number) => number) {
  return (value: number): number => {
    if (value <= 0) throw new EvaluationError(`${name} of ${value}`);
    return base(value);
  };
}

function extreme(sign: 1 | -1) {
  return (...values: FeatureValue[]): FeatureValue => {
    let best = values[0] as FeatureValue;
    for (const value of values) {
      if (Number.isNaN(value)) return value;
      if (compareValues(value, best) * sign > 0) best = value;
    }
    return best;
  };
}

const ORDERED = ["int", "float", "str", "datetime", "date", "timedelta"] as const;

function clip(value: FeatureValue, low: FeatureValue, high: FeatureValue): FeatureValue {
  for (const given of [value, low, high]) if (Number.isNaN(given)) return given;
  if (compareValues(low, high) > 0) throw new EvaluationError(`clip to nothing: ${low} is above ${high}`);
  if (compareValues(value, low) < 0) return low;
  return compareValues(value, high) > 0 ? high : value;
}

/** Functions of numbers. */
export const MATH = defineFamily("math", {
  abs: {
    doc: "The number without its sign.",
    example: "F.abs(_.balance)",
    parameters: ["value"],
    overloads: [
      ["int -> int", (value: Int) => (value < 0 ? negInt(value) : value)],
      ["float -> float", (value: number) => Math.abs(value)],
      ["decimal -> decimal", (value: string) => (value.startsWith("-") ? negDecimal(value) : value)],
      ["timedelta -> timedelta", (value: Int) => (value < 0 ? negLength(value) : value)],
    ],
  },
  sign: {
    doc: "-1, 0 or 1.",
    example: "F.sign(_.balance)",
    parameters: ["value"],
    overloads: [
      ["int -> int", (value: Int) => (value < 0 ? -1 : value > 0 ? 1 : 0)],
      ["float -> float", (value: number) => Math.sign(value) + 0],
    ],
  },
  ceil: {
    doc: "The least int that is not below the number.",
    example: "F.ceil(_.hours)",
    parameters: ["value"],
    overloads: [
      ["int -> int", (value: Int) => value],
      ["float -> int", (value: number) => wholeNumber(Math.ceil(value), "ceil")],
    ],
  },
  floor: {
    doc: "The greatest int that is not above the number.",
    example: "F.floor(_.hours)",
    parameters: ["value"],
    overloads: [
      ["int -> int", (value: Int) => value],
      ["float -> int", (value: number) => wholeNumber(Math.floor(value), "floor")],
    ],
  },
  round: {
    doc: "The nearest int, halves to the even one; with a second argument the nearest float with so many digits behind the point.",
    example: "F.round(_.score, 2)",
    parameters: ["value", "digits?"],
    overloads: [
      ["int -> int", (value: Int) => value],
      ["float -> int", (value: number) => wholeNumber(roundHalfEven(value), "round")],
      ["float, int -> float", (value: number, digits: Int) => roundDigits(value, Number(digits))],
    ],
  },
  sqrt: {
    doc: "The square root; of a negative number an error.",
    example: "F.sqrt(_.area)",
    parameters: ["value"],
    overloads: [
      [
        "float -> float",
        (value: number) => {
          if (value < 0) throw new EvaluationError(`sqrt of ${value}`);
          return Math.sqrt(value);
        },
      ],
    ],
  },
  ln: {
    doc: "The natural logarithm; of zero or a negative number an error.",
    example: "F.ln(1 + _.count)",
    parameters: ["value"],
    overloads: [["float -> float", logarithm("ln", Math.log)]],
  },
  log10: {
    doc: "The logarithm to base 10; of zero or a negative number an error.",
    example: "F.log10(_.amount)",
    parameters: ["value"],
    overloads: [["float -> float", logarithm("log10", Math.log10)]],
  },
  log2: {
    doc: "The logarithm to base 2; of zero or a negative number an error.",
    example: "F.log2(_.amount)",
    parameters: ["value"],
    overloads: [["float -> float", logarithm("log2", Math.log2)]],
  },
  exp: {
    doc: "e to the power of the number; infinity when that is too large for a float.",
    example: "F.exp(-_.age)",
    parameters: ["value"],
    overloads: [["float -> float", (value: number) => Math.exp(value)]],
  },
  greatest: {
    doc: "The greatest of the arguments; NaN when one is NaN.",
    example: "F.greatest(_.bid, _.ask)",
    parameters: ["*values"],
    overloads: ORDERED.map((type) => [`${type}, ${type}... -> ${type}`, extreme(1)] as const),
  },
  least: {
    doc: "The least of the arguments; NaN when one is NaN.",
    example: "F.least(_.bid, _.ask)",
    parameters: ["*values"],
    overloads: ORDERED.map((type) => [`${type}, ${type}... -> ${type}`, extreme(-1)] as const),
  },
  clip: {
    doc: "The value, or the bound that it lies beyond. A lower bound above the upper one is an error.",
    example: "F.clip(_.score, 0.0, 1.0)",
    parameters: ["value", "low", "high"],
    overloads: [
      ["int, int, int -> int", clip],
      ["float, float, float -> float", clip],
    ],
  },
  sigmoid: {
    doc: "1 / (1 + e ** -x).",
    example: "F.sigmoid(_.logit)",
    parameters: ["value"],
    overloads: [
      [
        "float -> float",
        (value: number) => {
          if (value >= 0) return 1 / (1 + Math.exp(-value));
          const power = Math.exp(value);
          return power / (1 + power);
        },
      ],
    ],
  },
  haversine: {
    doc: "Kilometres over the surface of the earth between two points given as latitude and longitude in degrees.",
    example: "F.haversine(_.home_lat, _.home_lon, _.shop_lat, _.shop_lon)",
    parameters: ["lat1", "lon1", "lat2", "lon2"],
    overloads: [
      [
        "float, float, float, float -> float",
        (lat1: number, lon1: number, lat2: number, lon2: number) => {
          const radians = Math.PI / 180;
          const [height, width] = [Math.sin(((lat2 - lat1) * radians) / 2), Math.sin(((lon2 - lon1) * radians) / 2)];
          const chord = height * height + Math.cos(lat1 * radians) * Math.cos(lat2 * radians) * width * width;
          return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(chord)));
        },
      ],
    ],
  },
  is_nan: {
    doc: "Whether it is NaN.",
    example: "F.is_nan(_.score)",
    parameters: ["value"],
    overloads: [["float -> bool", (value: number) => Number.isNaN(value)]],
  },
  is_finite: {
    doc: "Whether it is neither NaN nor infinite.",
    example: "F.is_finite(_.score)",
    parameters: ["value"],
    overloads: [["float -> bool", (value: number) => Number.isFinite(value)]],
  },
});
