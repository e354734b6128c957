/** A connection to the database in this process, with rows as values in memory. */

import { PrimitiveType } from "../../../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../../domain/value.ts";
import { decodeRows, encodeRows } from "../../../tables/column-values.ts";
import { CHUNK_ROWS } from "../../../tables/duckdb/chunk-vectors.ts";
import type { DatabaseProcess } from "../../../tables/duckdb/database-process.ts";
import type { SqlColumn } from "../../../tables/duckdb/sql-type.ts";
import type { TableColumn } from "../../../tables/engine.ts";
import { primitive } from "../../../tables/inferred-type.ts";
import { shapeOf } from "../../../tables/shape.ts";

/** A column's kind: 64-bit integers, which are numbers when that is exact, and so on. */
export type Kind = "int64" | "double" | "bool" | "text" | "bytes";

/** What a row has in a column. */
export type Cell = null | number | bigint | boolean | string | Uint8Array;

const TYPES = {
  int64: primitive(PrimitiveType.INT64),
  double: primitive(PrimitiveType.FLOAT64),
  bool: primitive(PrimitiveType.BOOL),
  text: primitive(PrimitiveType.STRING),
  bytes: primitive(PrimitiveType.BYTES),
} as const;

/** Rows that are fetched at a time. */
const FETCHED_ROWS = 20_480;

/** A connection. Statements of different ones run at the same time. */
export class Connection {
  private constructor(
    readonly process: DatabaseProcess,
    readonly id: number,
  ) {}

  static async open(process: DatabaseProcess): Promise<Connection> {
    return new Connection(process, await process.connect());
  }

  /** Runs statements; the number of rows that the last one changed. */
  run(sql: string): Promise<number> {
    return this.process.run(this.id, sql);
  }

  /** The columns of a statement. */
  describe(sql: string): Promise<readonly SqlColumn[]> {
    return this.process.describe(this.id, sql);
  }

  /** The rows of a statement, whose columns are of these kinds. */
  async rows(sql: string, kinds: readonly Kind[]): Promise<Cell[][]> {
    const rows: Cell[][] = [];
    for await (const columns of this.columns(sql, kinds))
      for (let row = 0; row < (columns[0]?.length ?? 0); row++) rows.push(columns.map((column) => column[row] as Cell));
    return rows;
  }

  /** The rows of a statement as they are computed, in columns of at most 2,048 rows. */
  async *columns(sql: string, kinds: readonly Kind[]): AsyncGenerator<Cell[][]> {
    const columns = kinds.map((kind, at) => ({ name: `c${at}`, dtype: TYPES[kind] }));
    const reading = await this.process.read(
      this.id,
      sql,
      columns.map(({ dtype }) => shapeOf(dtype)),
    );
    for (let done = false; !done; ) {
      const answer = await this.process.next(reading, FETCHED_ROWS);
      done = answer.done;
      for (const { rows, bytes } of answer.frames) yield decodeRows(bytes, columns, rows) as Cell[][];
    }
  }

  /** Appends rows, in columns, to a table with such columns. */
  async append(table: string, kinds: readonly Kind[], columns: readonly (readonly Cell[])[]): Promise<void> {
    const appender = new TableAppender(
      this,
      table,
      kinds.map((kind, at) => ({ name: `c${at}`, dtype: TYPES[kind] })),
    );
    appender.append(columns);
    appender.end();
  }

  close(): void {
    this.process.disconnect(this.id);
  }
}

/** Appends rows to a table, whose columns have the shapes of these types. */
export class TableAppender {
  readonly #appender: number;
  readonly #wide;

  constructor(
    readonly connection: Connection,
    table: string,
    readonly columns: readonly TableColumn[],
  ) {
    this.#wide = columns.map(() => ({ isWide: false }));
    this.#appender = connection.process.beginAppend(
      connection.id,
      table,
      columns.map(({ dtype }) => shapeOf(dtype)),
    );
  }

  /** Whether a column of decimals has some that do not fit `decimal(38, 9)`. */
  isWide(column: number): boolean {
    return this.#wide[column]?.isWide === true;
  }

  append(values: readonly (readonly FeatureValue[])[]): void {
    const rows = values[0]?.length ?? 0;
    for (let from = 0; from < rows; from += CHUNK_ROWS) {
      const to = Math.min(from + CHUNK_ROWS, rows);
      const part = this.columns.map((column, at) => ({ ...column, values: (values[at] as readonly FeatureValue[]).slice(from, to) }));
      this.connection.process.append(this.#appender, to - from, encodeRows(part, this.#wide));
    }
  }

  end(): void {
    this.connection.process.endAppend(this.#appender);
  }
}
