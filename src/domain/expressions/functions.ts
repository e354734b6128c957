/**
 * The function table: every operator and function of expressions with its signatures, its rule
 * about null, its documentation and its code. The type checker, the evaluator, the Python module
 * `svc.functions` and the documentation come from it.
 *
 * Rules for all of them, unless an entry says otherwise: a null argument gives null; int is widened
 * to float or decimal where one is wanted; an error in an argument is the error of the result.
 * Floats follow IEEE 754 (NaN and infinities are values), with the exceptions that Python makes:
 * division by zero and functions outside of their domain are errors of the row. An int beyond 64
 * bits is an error, never another number.
 */

import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import type { FunctionDefinition, Overload } from "./definition.ts";
import { ARITHMETIC } from "./families/arithmetic.ts";
import { COMPARISON } from "./families/comparison.ts";
import { BOOLEAN, CONDITIONALS, NULLS } from "./families/conditions.ts";
import { DATES } from "./families/dates.ts";
import { JSON_VALUES } from "./families/json.ts";
import { LISTS } from "./families/lists.ts";
import { MATH } from "./families/math.ts";
import { SIMILARITY } from "./families/similarity.ts";
import { STRINGS } from "./families/strings.ts";
import { URLS } from "./families/urls.ts";
import { type Match, matchSignature } from "./types.ts";

/** The functions by name, by family in the order of the documentation. */
export const FUNCTIONS: ReadonlyMap<string, FunctionDefinition> = new Map(
  [ARITHMETIC, COMPARISON, BOOLEAN, CONDITIONALS, NULLS, MATH, STRINGS, SIMILARITY, DATES, LISTS, JSON_VALUES, URLS]
    .flat()
    .map((entry) => [entry.name, entry]),
);

/**
 * The signature that fits the arguments with the fewest conversions, the first of equals; undefined
 * when none fits.
 */
export function chooseOverload(
  definition: FunctionDefinition,
  argumentTypes: readonly DataType[],
): { readonly overload: Overload; readonly match: Match } | undefined {
  let best: { overload: Overload; match: Match } | undefined;
  for (const overload of definition.overloads) {
    const match = matchSignature(overload.signature, argumentTypes);
    if (match && match.cost < (best?.match.cost ?? Number.POSITIVE_INFINITY)) best = { overload, match };
  }
  return best;
}

/** Whether the result may be null. */
export function isResultNullable(definition: FunctionDefinition, overload: Overload, argumentsNullable: readonly boolean[]): boolean {
  if (overload.signature.resultNullable) return true;
  return definition.nulls ? definition.nulls.nullable(argumentsNullable) : argumentsNullable.includes(true);
}
