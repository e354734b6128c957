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
        (left: (number | null)[], right: (number | null)[]) => {
          if (left.length !== right.length)
            throw new EvaluationError(`cosine_similarity of lists of ${left.length} and ${right.length} numbers`);
          let [dot, a, b] = [0, 0, 0];
          for (let index = 0; index < left.length; index++) {
            const [x, y] = [left[index], right[index]];
            if (x === null || y === null || x === undefined || y === undefined) return null;
            dot += x * y;
            a += x * x;
            b += y * y;
          }
          return a === 0 || b === 0 ? null : dot / (Math.sqrt(a) * Math.sqrt(b));
        },
      ],
    ],
  },
});
