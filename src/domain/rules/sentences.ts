/**
 * Sentences that several rules share, and parts of sentences that TypeScript and Python both use.
 */

import { message } from "./rule.ts";

/** The message that a class lacks a feature. `near` is empty, or "; did you mean ...?". */
export const NO_SUCH_FEATURE = message("{owner} has no feature '{name}'{near}", "no such feature");

/** The message that a windowed feature lacks a window. */
export const NO_SUCH_WINDOW = message("{owner}.{name} has no window '{window}'; its windows are: {windows}", "no such window");

/** The message that an item of `DataFrame[...]` is no column. */
export const NO_COLUMN = message(
  "'{type}' is no column: write DataFrame[User.id, User.name], or DataFrame[User] for all of it",
  "no column",
);

/**
 * Advice by operator that Python evaluates at import; `contains` is `in` with the expression at its
 * right.
 */
export const OPERATOR_CURES: Readonly<Record<string, string>> = {
  and: "write & and put each comparison in parentheses: (_.a > 1) & (_.b < 2)",
  or: "write | and put each comparison in parentheses: (_.a > 1) | (_.b < 2)",
  not: "write ~ and put the comparison in parentheses: ~(_.a > 1)",
  in: "write .isin([...])",
  "not in": "write ~ and .isin([...])",
  is: "write == for a value, and F.is_null(...) for None",
  "is not": "write != for a value, and F.is_not_null(...) for None",
  if: "write F.if_then_else(condition, value, other)",
  contains: "write F.contains(_.tags, value)",
  "not contains": "write ~F.contains(_.tags, value)",
};

/** Advice about chained comparisons. */
export const CHAIN_CURE = "write two comparisons joined by &: (1 < _.a) & (_.a < 9)";
