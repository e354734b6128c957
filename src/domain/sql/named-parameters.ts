/** Placeholders `:name` of statements that Python code states. */

import { type SqlDialect, SqlScanner } from "./tokenize.ts";

/** A placeholder, its colon included, in UTF-16 units. */
export interface NamedParameter {
  readonly name: string;
  readonly offset: number;
  readonly length: number;
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
/** What stands before a colon that begins no placeholder: `a[1:n]`, `data:field`. */
const JOINED = /[\w\])"`$\u0080-\uffff]/;

/**
 * The placeholders of a statement in their order. Strings, quoted names and comments are passed
 * over, as the dialect has them; a colon right behind a word or a bracket is the database's own.
 */
export function namedParameters(text: string, dialect: SqlDialect | undefined): NamedParameter[] {
  const scanner = new SqlScanner(text, dialect);
  const found: NamedParameter[] = [];
  while (scanner.next()) {
    const { kind, start, end } = scanner;
    if (kind !== "punctuation" || text[start] !== ":" || end !== start + 1) continue;
    if (start > 0 && JOINED.test(text[start - 1] as string)) continue;
    NAME.lastIndex = end;
    const name = NAME.exec(text)?.[0];
    if (name !== undefined) found.push({ name, offset: start, length: name.length + 1 });
  }
  return found;
}
