/** Similarity of texts and of lists of numbers. */

import type { FeatureValue } from "../../value.ts";
import { identity } from "../compare.ts";
import { defineFamily } from "../definition.ts";
import { EvaluationError } from "../evaluation-error.ts";
import { jaccard, jaroWinkler, levenshtein, partialRatio } from "../similarity.ts";
import { codePoints } from "../text.ts";

/** Largest product of two lengths that the quadratic comparisons take. */
const MOST_STEPS = 25_000_000;

function bounded(name: string, compare: (a: string, b: string) => number) {
  return (a: string, b: string): number => {
    if (a.length * b.length > MOST_STEPS)
      throw new EvaluationError(`${name} of texts of ${a.length} and ${b.length} characters: they are too long`);
    return compare(a, b);
  };
}

type Numbers = readonly (number | null)[];
type Sums = [number, number, number];

/**
 * Sums over the pairs of two lists' numbers; null when a number is. Throws EvaluationError for
 * lists of different lengths.
 */
function paired(name: string, left: Numbers, right: Numbers, add: (sums: Sums, x: number, y: number) => void): Sums | null {
  if (left.length !== right.length) throw new EvaluationError(`${name} of lists of ${left.length} and ${right.length} numbers`);
  const sums: Sums = [0, 0, 0];
  for (let index = 0; index < left.length; index++) {
    const [x, y] = [left[index], right[index]];
    if (x === null || y === null || x === undefined || y === undefined) return null;
    add(sums, x, y);
  }
  return sums;
}

/** Functions of similarity. */
export const SIMILARITY = defineFamily("similarity", {
  levenshtein: {
    doc: "How many insertions, deletions and substitutions of a character make one text of the other.",
    example: "F.levenshtein(_.name, _.other_name)",
    parameters: ["left", "right"],
    overloads: [["str, str -> int", bounded("levenshtein", levenshtein)]],
  },
  jaro_winkler: {
    doc: "Jaro-Winkler similarity, 0 to 1; an equal beginning counts more.",
    example: "F.jaro_winkler(_.name, _.other_name)",
    parameters: ["left", "right"],
    overloads: [["str, str -> float", bounded("jaro_winkler", jaroWinkler)]],
  },
  jaccard_similarity: {
    doc: "Distinct elements that both have by those that one has, 0 to 1; the elements of a text are its characters. Two that have none are alike: 1.",
    example: "F.jaccard_similarity(F.lower(_.name), F.lower(_.email))",
    parameters: ["left", "right"],
    overloads: [
      ["str, str -> float", (left: string, right: string) => jaccard(codePoints(left), codePoints(right))],
      ["list[T], list[T] -> float", (left: FeatureValue[], right: FeatureValue[]) => jaccard(left.map(identity), right.map(identity))],
    ],
  },
  partial_ratio: {
    doc: "Best likeness, 0 to 100, of the shorter text with a part of the longer one that is as long, or shorter at its ends.",
    example: "F.partial_ratio(_.name, _.title)",
    parameters: ["left", "right"],
    overloads: [
      [
        "str, str -> float",
        bounded("partial_ratio", (a, b) => {
          const [short, long] = [Math.min(a.length, b.length), Math.max(a.length, b.length)];
          if (short * short * (long + short) > MOST_STEPS * 20)
            throw new EvaluationError(`partial_ratio of texts of ${short} and ${long} characters: they are too long`);
          return partialRatio(a, b);
        }),
      ],
    ],
  },
  cosine_similarity: {
    doc: "Cosine of the angle between two lists of numbers of one length, -1 to 1; null when one of them is all zeros.",
    example: "F.cosine_similarity(_.embedding, _.other_embedding)",
    parameters: ["left", "right"],
    overloads: [
      [
        "list[float], list[float] -> float?",
        (left: Numbers, right: Numbers) => {
          const sums = paired("cosine_similarity", left, right, (sum, x, y) => {
            sum[0] += x * y;
            sum[1] += x * x;
            sum[2] += y * y;
          });
          return sums && (sums[1] === 0 || sums[2] === 0 ? null : sums[0] / (Math.sqrt(sums[1]) * Math.sqrt(sums[2])));
        },
      ],
    ],
  },
  dot_product: {
    doc: "Sum of the products of two lists of numbers of one length.",
    example: "F.dot_product(_.embedding, _.other_embedding)",
    parameters: ["left", "right"],
    overloads: [
      [
        "list[float], list[float] -> float?",
        (left: Numbers, right: Numbers) => {
          const sums = paired("dot_product", left, right, (sum, x, y) => {
            sum[0] += x * y;
          });
          return sums === null ? null : sums[0];
        },
      ],
    ],
  },
  l2_distance: {
    doc: "Distance of two points whose coordinates are lists of numbers of one length: the root of the sum of the squares of their differences.",
    example: "F.l2_distance(_.embedding, _.other_embedding)",
    parameters: ["left", "right"],
    overloads: [
      [
        "list[float], list[float] -> float?",
        (left: Numbers, right: Numbers) => {
          const sums = paired("l2_distance", left, right, (sum, x, y) => {
            sum[0] += (x - y) * (x - y);
          });
          return sums === null ? null : Math.sqrt(sums[0]);
        },
      ],
    ],
  },
});
