/** A search as a condition of SQLite, which finds the records that `matches` finds. */

import { formsOf } from "./pattern.ts";
import type { Search } from "./tree.ts";

/** A condition, with what stands for its `?`. */
export interface Condition {
  readonly sql: string;
  readonly parameters: readonly (string | number)[];
}

/**
 * The expression of a field's column. Texts are never null, an empty one is no value; numbers are
 * null where there is none. No text has a NUL character.
 */
export type Columns = (field: string) => string | Condition;

/** The condition of a search. */
export function toCondition(search: Search, columns: Columns): Condition {
  if (search.is === "all" || search.is === "any") {
    if (search.of.length === 0) return { sql: search.is === "all" ? "1" : "0", parameters: [] };
    const of = search.of.map((part) => toCondition(part, columns));
    const word = search.is === "all" ? " and " : " or ";
    return { sql: `(${of.map(({ sql }) => sql).join(word)})`, parameters: of.flatMap(({ parameters }) => parameters) };
  }
  if (search.is === "not") {
    const { sql, parameters } = toCondition(search.of, columns);
    return { sql: `not coalesce(${sql}, 0)`, parameters };
  }
  const column = columns(search.field);
  const { sql, parameters: own } = typeof column === "string" ? { sql: column, parameters: [] } : column;
  const compared = (how: string, ...parameters: readonly (string | number)[]): Condition => ({
    sql: `${sql} ${how}`,
    parameters: [...own, ...parameters],
  });
  if (search.is === "number") return compared(`${search.operator} ?`, search.value);
  if (search.is === "equal") return compared("= ?", search.value);
  if (search.is === "present") return compared("<> ''");
  if (search.is === "among") return compared(`in (${search.values.map(() => "?").join(", ")})`, ...search.values);
  const { parts, anyCase } = search;
  const isPlain = anyCase && parts.every((part) => [...part].every((letter) => letter < "\u0080" || formsOf(letter).length === 1));
  return isPlain
    ? compared("like ? escape '\\'", parts.map((part) => part.replace(/[\\%_]/g, "\\$&")).join("%"))
    : compared("glob ?", parts.map((part) => globOf(part, anyCase)).join("*"));
}

/** A part as a pattern of `glob`, which tells small letters from capital ones. */
function globOf(part: string, anyCase: boolean): string {
  return [...part]
    .map((letter) => {
      const forms = anyCase ? formsOf(letter) : [letter];
      return forms.length > 1 || /[*?[]/.test(letter) ? `[${forms.join("")}]` : letter;
    })
    .join("");
}
