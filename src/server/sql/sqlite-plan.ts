/** Detection of statements of a SQLite source that are short enough to run on the event loop. */

import type { Database } from "bun:sqlite";

const SEARCH_ROWID = /^SEARCH \S+ USING INTEGER PRIMARY KEY \(rowid=\?\)$/;
const SEARCH_INDEX = /^SEARCH \S+ USING (?:COVERING )?INDEX (\S+) \((.+)\)$/;
const SEARCH_PRIMARY_KEY = /^SEARCH \S+ USING PRIMARY KEY \((.+)\)$/;
const EQUALITY = /^(\S+|<expr>)=\?$/;
const HARMLESS =
  /^(?:SCAN (?:CONSTANT ROW|\d+ CONSTANT ROWS)|(?:CORRELATED )?(?:LIST|SCALAR) SUBQUERY \d+|MULTI-INDEX OR|INDEX \d+|USE TEMP B-TREE FOR .+)$/;

/**
 * Whether SQLite reaches every table of a statement by a unique key, so that its time depends on
 * the number of keys given and not on the size of the tables. False when in doubt. Throws SQLite's
 * error for an invalid statement.
 */
export function isPointRead(db: Database, statement: string): boolean {
  const plan = db.prepare<{ detail: string }, []>(`explain query plan ${statement}`);
  try {
    return plan.all().every(({ detail }) => SEARCH_ROWID.test(detail) || HARMLESS.test(detail) || isUniqueSearch(db, detail));
  } finally {
    plan.finalize();
  }
}

function isUniqueSearch(db: Database, detail: string): boolean {
  const [, index, terms] = SEARCH_INDEX.exec(detail) ?? [];
  if (index !== undefined && terms !== undefined) {
    const columns = equalColumns(terms);
    return columns !== undefined && columns.length === uniqueColumns(db, index);
  }
  const columns = equalColumns(SEARCH_PRIMARY_KEY.exec(detail)?.[1] ?? "");
  return columns !== undefined && isWholePrimaryKey(db, columns);
}

/** The columns of `a=? AND b=?`; undefined when another comparison is among them. */
function equalColumns(terms: string): string[] | undefined {
  const columns = terms.split(" AND ").map((term) => EQUALITY.exec(term)?.[1]);
  return columns.every((column) => column !== undefined) ? columns : undefined;
}

/** Number of key columns of a unique index over all rows; 0 for any other index. */
function uniqueColumns(db: Database, index: string): number {
  const found = db
    .query<{ n: bigint }, [string]>(
      `select (select count(*) from pragma_index_info(list.name)) as n
         from sqlite_schema as entry, pragma_index_list(entry.tbl_name) as list
        where entry.type = 'index' and entry.name = ?1 and list.name = ?1 and list."unique" = 1 and list.partial = 0`,
    )
    .get(index);
  return Number(found?.n ?? 0);
}

/**
 * Whether the columns are the whole primary key of a table without rowids. The plan names the table
 * by its alias, so a table whose longer key begins with the same columns makes the answer no.
 */
function isWholePrimaryKey(db: Database, columns: readonly string[]): boolean {
  const keys = db
    .query<{ key: string }, []>(
      `select (select json_group_array(name) from (select name from pragma_table_info(list.name) where pk > 0 order by pk)) as key
         from pragma_table_list as list where list.wr = 1`,
    )
    .all()
    .map(({ key }) => JSON.parse(key) as string[])
    .filter((key) => columns.every((column, at) => key[at] === column));
  return keys.length > 0 && keys.every((key) => key.length === columns.length);
}
