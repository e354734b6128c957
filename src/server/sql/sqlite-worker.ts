/** Worker thread that runs potentially long statements of a SQLite source, one at a time. */

import { type Emit, serve } from "../thread/rpc.ts";
import type { SqlResult } from "./source.ts";
import { type Bound, openReadOnly, readRows, type SqlitePlace, sqliteError } from "./sqlite-file.ts";

/** Events of a running statement: rows that precede those of the result. */
export type ReaderEvents = { readonly rows: readonly [rows: readonly (readonly unknown[])[]] };

const ROWS_PER_PORTION = 500;
const BUSY_TIMEOUT_MS = 5_000;

/** Reads one database. */
export class SqliteFileReader {
  readonly #db: ReturnType<typeof openReadOnly>;
  readonly #emit: Emit<ReaderEvents>;

  constructor(place: SqlitePlace, emit: Emit<ReaderEvents>) {
    this.#db = openReadOnly(place, BUSY_TIMEOUT_MS);
    this.#emit = emit;
  }

  /**
   * Runs a statement. Rows are sent in portions, so that receiving one never blocks for long; the
   * last portion is in the result. Throws SqlError.
   */
  read(statement: string, parameters: readonly Bound[]): SqlResult {
    try {
      const prepared = this.#db.prepare(statement);
      try {
        return this.#inPortions(readRows(prepared, parameters));
      } finally {
        prepared.finalize();
      }
    } catch (error) {
      throw sqliteError(error, statement);
    }
  }

  close(): void {
    this.#db.close();
  }

  #inPortions({ columns, rows }: SqlResult): SqlResult {
    let at = 0;
    for (; at + ROWS_PER_PORTION < rows.length; at += ROWS_PER_PORTION) this.#emit("rows", rows.slice(at, at + ROWS_PER_PORTION));
    return { columns, rows: at === 0 ? rows : rows.slice(at) };
  }
}

serve<SqliteFileReader, SqlitePlace, ReaderEvents>({
  make: (place, emit) => new SqliteFileReader(place, emit),
  close: (reader) => reader.close(),
  explain: (error) => sqliteError(error, ""),
});
