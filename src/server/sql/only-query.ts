/** The check of statements for databases that know no read-only session. */

import { type SqlDialect, SqlScanner } from "../../domain/sql/tokenize.ts";
import { SqlError } from "./source.ts";

/** Throws SqlError for what is not one query: another statement, or several. */
export function refuseAllButQuery(statement: string, dialect: SqlDialect | undefined): void {
  const scanner = new SqlScanner(statement, dialect);
  let isFirst = true;
  let isEnded = false;
  while (scanner.nextSignificant()) {
    const { kind, start } = scanner;
    if (isEnded) throw new SqlError("a source runs one statement at a time", start);
    if (kind === "punctuation" && statement[start] === "(" && isFirst) continue;
    if (isFirst && !scanner.is("select") && !scanner.is("with"))
      throw new SqlError("a source is only read: a statement begins with `select` or `with`", start);
    isFirst = false;
    isEnded = kind === "punctuation" && statement[start] === ";";
  }
  if (isFirst) throw new SqlError("the statement is empty");
}
