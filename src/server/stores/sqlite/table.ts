/** A table of records: statements name rows, and what goes in and comes out are records. */

import type { Database, SQLQueryBindings } from "bun:sqlite";
import { type Columns, rowCodec, type Stored } from "./row-codec.ts";

/**
 * The records of one table. Clauses are what follows the table's name in a statement, such as
 * `where id = ?`; they come from code, never from a user.
 */
export interface Table<R> {
  insert(record: R): void;
  /**
   * Changes rows and gives their number. Clauses name their values (`where id = $key`), by names
   * that no column has.
   */
  update(patch: Partial<R>, clauses: string, values: Readonly<Record<string, Stored>>): number;
  /** Deletes rows and gives their records. */
  remove(clauses: string, ...values: readonly Stored[]): R[];
  /** The first record. */
  one(clauses: string, ...values: readonly Stored[]): R | undefined;
  all(clauses: string, ...values: readonly Stored[]): R[];
}

/** Makes the table of a database; how each field is kept is said by `columns`. */
export function createTable<R extends object>(db: Database, name: string, columns: Columns<R>): Table<R> {
  const codec = rowCodec<R>(name, columns);
  const query = (sql: string) => db.query<object, SQLQueryBindings[]>(sql);
  return {
    insert(record) {
      query(codec.insert).run(codec.parameters(record));
    },
    update(patch, clauses, values) {
      const { sql, parameters } = codec.assignments(patch);
      return query(`update ${name} set ${sql} ${clauses}`).run({ ...parameters, ...values }).changes;
    },
    remove: (clauses, ...values) =>
      query(`delete from ${name} ${clauses} returning *`)
        .all(...values)
        .map(codec.record),
    one(clauses, ...values) {
      const row = query(`select * from ${name} ${clauses}`).get(...values);
      return row ? codec.record(row) : undefined;
    },
    all: (clauses, ...values) =>
      query(`select * from ${name} ${clauses}`)
        .all(...values)
        .map(codec.record),
  };
}
