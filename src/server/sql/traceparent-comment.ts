/**
 * The comment by which a database server's log and its list of statements lead to a trace, as
 * sqlcommenter writes it: `traceparent='00-...'` in a comment at the end.
 */

import { withoutTerminator } from "../../domain/sql/statement.ts";
import type { SqlDialect } from "../../domain/sql/tokenize.ts";

/** A statement with the comment. It stands on a line of its own: the statement may end with one. */
export function withTraceparent(statement: string, dialect: SqlDialect | undefined, traceparent: string): string {
  const value = encodeURIComponent(traceparent).replaceAll("'", "%27");
  return `${withoutTerminator(statement, dialect)}\n/*traceparent='${value}'*/`;
}
