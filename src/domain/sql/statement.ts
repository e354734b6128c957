/**
 * Facts of a statement's text that a database's driver needs: the number of parameters, and the
 * end.
 */

import { type SqlDialect, SqlScanner } from "./tokenize.ts";

/** The placeholder of the bound of incremental runs. */
export const INCREMENTAL_PLACEHOLDER = "svc_incremental_timestamp";

/**
 * Number of parameters of a bound statement: the highest `$n`, or how many `?` there are. Strings,
 * quoted names and comments are passed over, as the dialect has them.
 */
export function countParameters(statement: string, dialect: SqlDialect | undefined): number {
  const scanner = new SqlScanner(statement, dialect);
  let count = 0;
  let dollarAt = -1;
  while (scanner.next()) {
    const { kind, start, end } = scanner;
    if (kind === "number" && start === dollarAt) count = Math.max(count, Number.parseInt(statement.slice(start, end), 10));
    if (kind === "punctuation" && statement[start] === "?") count++;
    dollarAt = kind === "punctuation" && statement[start] === "$" ? end : -1;
  }
  return count;
}

/**
 * A statement without the semicolon, blanks and comments after its end, so that it can stand in
 * parentheses.
 */
export function withoutTerminator(statement: string, dialect: SqlDialect | undefined): string {
  const scanner = new SqlScanner(statement, dialect);
  let end = 0;
  let isTerminated = false;
  while (scanner.nextSignificant()) {
    isTerminated = scanner.kind === "punctuation" && statement[scanner.start] === ";";
    if (!isTerminated) end = scanner.end;
  }
  return isTerminated ? statement.slice(0, end) : statement.trimEnd();
}
