/**
 * What a child does that owns a database: it runs statements, and takes and gives rows by columns.
 * It knows SQL and shapes, not features; another process writes its statements. A child with more
 * to do extends `DatabaseProcess`.
 */

import type { Appender, Connection, Database, LogicalType, PreparedStatement, Result } from "@duckdb/node-bindings";
import { FrameReader, FrameWriter } from "../column-frame.ts";
import { TableError } from "../engine.ts";
import type { Shape } from "../shape.ts";
import { chunkOf, logicalType, writeChunk } from "./chunk-vectors.ts";
import { type Library, loadLibrary } from "./library.ts";
import { type SqlColumn, sqlTypeOf } from "./sql-type.ts";

/** Settings of a child that owns a database. */
export interface DatabaseSettings {
  /** Where a binary unpacks the library, the first that can be written. */
  readonly libraryFolders: readonly string[];
  /** File of the database; `:memory:` for one that ends with the child. */
  readonly file: string;
  /** Settings of the database, such as `memory_limit`. */
  readonly config: Readonly<Record<string, string>>;
  /** Statements that each connection begins with. */
  readonly begin?: readonly string[];
}

/** Settings of every database: nothing is fetched, and times are UTC. */
const BASE_CONFIG = { autoinstall_known_extensions: "false", autoload_known_extensions: "false" };
const BASE_STATEMENTS = ["SET TimeZone = 'UTC'", "SET Calendar = 'gregorian'"];

/** Most bytes of a frame that is handed out. */
const MAX_FRAME_BYTES = 256 * 1024 * 1024;

/**
 * A parameter of a statement, as it travels to the process: numbers as texts with what they are,
 * because JSON has neither 64-bit integers nor infinity.
 */
export type BoundParameter = null | boolean | string | Uint8Array | { readonly int64: string } | { readonly double: string };

/** Rows that were read. */
export interface RowFrames {
  /** Frames of at most 2,048 rows each. */
  readonly frames: readonly { readonly rows: number; readonly bytes: Uint8Array }[];
  /** Whether these were the last. */
  readonly done: boolean;
}

interface Reading {
  readonly connection: Connection;
  readonly result: Result;
  readonly shapes: readonly Shape[];
}

interface Appending {
  readonly connection: Connection;
  readonly appender: Appender;
  readonly shapes: readonly Shape[];
  readonly types: readonly LogicalType[];
}

/**
 * Loads the library and opens a database: what a `DatabaseProcess` is made of. Rejects with
 * TableError `unavailable`.
 */
export async function openDatabase({
  libraryFolders,
  file,
  config,
  begin = [],
}: DatabaseSettings): Promise<[library: Library, database: Database, begin: readonly string[]]> {
  const library = loadLibrary(libraryFolders);
  const settings = library.create_config();
  for (const [name, value] of Object.entries({ ...BASE_CONFIG, ...config })) library.set_config(settings, name, value);
  return [library, await library.open(file, settings), [...BASE_STATEMENTS, ...begin]];
}

/** A database in this process. Numbers name connections, readings and appenders. */
export class DatabaseProcess {
  protected readonly library: Library;
  readonly #database: Database;
  readonly #begin: readonly string[];
  readonly #connections = new Map<number, Connection>();
  readonly #readings = new Map<number, Reading>();
  readonly #appenders = new Map<number, Appending>();
  #last = 0;

  /** @param begin statements that each connection begins with */
  constructor(library: Library, database: Database, begin: readonly string[]) {
    this.library = library;
    this.#database = database;
    this.#begin = begin;
  }

  /** Loads the library and opens the database. Rejects with TableError `unavailable`. */
  static async open(settings: DatabaseSettings): Promise<DatabaseProcess> {
    return new DatabaseProcess(...(await openDatabase(settings)));
  }

  /** The library's version. */
  version(): string {
    return this.library.library_version();
  }

  /** Opens a connection: statements of different ones run at the same time. */
  async connect(): Promise<number> {
    const connection = await this.library.connect(this.#database);
    for (const statement of this.#begin) await this.library.query(connection, statement);
    this.#connections.set(++this.#last, connection);
    return this.#last;
  }

  /** Closes a connection, and ends what it does. */
  disconnect(id: number): void {
    const connection = this.connection(id);
    this.library.interrupt(connection);
    for (const [at, reading] of this.#readings) if (reading.connection === connection) this.#readings.delete(at);
    for (const [at, appending] of this.#appenders) if (appending.connection === connection) this.#appenders.delete(at);
    this.#connections.delete(id);
    this.library.disconnect_sync(connection);
  }

  /** Ends the statement that a connection runs: it rejects. */
  interrupt(id: number): void {
    const connection = this.#connections.get(id);
    if (connection) this.library.interrupt(connection);
  }

  /** Runs statements, and returns how many rows the last one changed. */
  async run(id: number, sql: string): Promise<number> {
    const result = await this.library.query(this.connection(id), sql);
    return Number(this.library.rows_changed(result));
  }

  /** The columns of a statement, which is not run. */
  async describe(id: number, sql: string): Promise<readonly SqlColumn[]> {
    const prepared = await this.library.prepare(this.connection(id), sql);
    try {
      const columns: SqlColumn[] = [];
      for (let at = 0; at < this.library.prepared_statement_column_count(prepared); at++)
        columns.push({
          name: this.library.prepared_statement_column_name(prepared, at),
          type: sqlTypeOf(this.library, this.library.prepared_statement_column_logical_type(prepared, at)),
        });
      return columns;
    } finally {
      this.library.destroy_prepare_sync(prepared);
    }
  }

  /**
   * Begins to read a statement's rows as they are computed; its columns must have these shapes.
   * `next` reads on. A connection reads one statement at a time.
   * @param parameters values of `$1` and so on
   */
  async read(id: number, sql: string, shapes: readonly Shape[], parameters: readonly BoundParameter[] = []): Promise<number> {
    const connection = this.connection(id);
    const prepared = await this.library.prepare(connection, sql);
    try {
      const taken = this.library.nparams(prepared);
      for (const [at, value] of parameters.slice(0, taken).entries()) this.#bind(prepared, at + 1, value);
      const result = await this.library.execute_prepared_streaming(prepared);
      this.#readings.set(++this.#last, { connection, result, shapes });
      return this.#last;
    } finally {
      this.library.destroy_prepare_sync(prepared);
    }
  }

  /** The next rows of a reading: at least so many, unless they were the last. */
  async next(reading: number, rows: number): Promise<RowFrames> {
    const found = this.#readings.get(reading);
    if (!found) throw new TableError("failed", "there is no such reading");
    const frames: { rows: number; bytes: Uint8Array }[] = [];
    let count = 0;
    let bytes = 0;
    while (count < rows) {
      const chunk = await this.library.fetch_chunk(found.result);
      if (!chunk || this.library.data_chunk_get_size(chunk) === 0) {
        this.#readings.delete(reading);
        return { frames, done: true };
      }
      const into = new FrameWriter();
      const read = writeChunk(this.library, chunk, found.shapes, into);
      count += read;
      bytes += into.length;
      if (bytes > MAX_FRAME_BYTES) throw new TableError("exhausted", `${count} rows are more than ${MAX_FRAME_BYTES / 1024 ** 2} MiB`);
      frames.push({ rows: read, bytes: into.written });
    }
    return { frames, done: false };
  }

  /** Ends a reading before its last row. */
  endReading(reading: number): void {
    const found = this.#readings.get(reading);
    if (!found) return;
    this.library.interrupt(found.connection);
    this.#readings.delete(reading);
  }

  /** Begins to append rows to a table, whose columns have these shapes. */
  beginAppend(id: number, table: string, shapes: readonly Shape[]): number {
    const connection = this.connection(id);
    const appender = this.library.appender_create(connection, null, table);
    const types = shapes.map((shape) => logicalType(this.library, shape));
    this.#appenders.set(++this.#last, { connection, appender, shapes, types });
    return this.#last;
  }

  /** Appends the rows of a frame, 2,048 at most. */
  append(appender: number, rows: number, frame: Uint8Array): void {
    const { appender: into, shapes, types } = this.#appending(appender);
    this.library.append_data_chunk(into, chunkOf(this.library, types, shapes, new FrameReader(frame), rows));
  }

  /** Ends appending: the rows are in the table. */
  endAppend(appender: number): void {
    const { appender: ending } = this.#appending(appender);
    this.#appenders.delete(appender);
    this.library.appender_close_sync(ending);
  }

  /** The connection of a number. Throws TableError when there is none. */
  protected connection(id: number): Connection {
    const connection = this.#connections.get(id);
    if (!connection) throw new TableError("failed", "there is no such connection");
    return connection;
  }

  #bind(prepared: PreparedStatement, position: number, value: BoundParameter): void {
    if (value === null) this.library.bind_null(prepared, position);
    else if (typeof value === "boolean") this.library.bind_boolean(prepared, position, value);
    else if (typeof value === "string") this.library.bind_varchar(prepared, position, value);
    else if (value instanceof Uint8Array) this.library.bind_blob(prepared, position, value);
    else if ("int64" in value) this.library.bind_int64(prepared, position, BigInt(value.int64));
    else this.library.bind_double(prepared, position, Number(value.double));
  }

  #appending(id: number): Appending {
    const found = this.#appenders.get(id);
    if (!found) throw new TableError("failed", "there is no such appender");
    return found;
  }
}
