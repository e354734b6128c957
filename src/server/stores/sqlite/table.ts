/** A table of records: clauses select rows, and values are records. */

import type { Database, SQLQueryBindings } from "bun:sqlite";
import { type Columns, rowCodec, type Stored } from "./row-codec.ts";

/**
 * The records of one table. Clauses are the part of a statement after the table's name, such as
 * `where id = ?`; they come from code, never from users.
 */
export interface Table<R> {
  insert(record: R): void;
  /**
   * Changes rows and returns their number. Parameters of clauses are named (`where id = $key`), by
   * names that no column has.
   */
  update(patch: Partial<R>, clauses: string, values: Readonly<Record<string, Stored>>): number;
  /** Deletes rows and returns their records. */
  remove(clauses: string, ...values: readonly Stored[]): R[];
  /** The first record. */
  one(clauses: string, ...values: readonly Stored[]): R | undefined;
  all(clauses: string, ...values: readonly Stored[]): R[];
}

/** A table of a database; `columns` declares how each field is stored. */
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
