/** The table engine over a database process. */

import { existsSync, mkdirSync, rmSync } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type DataType, DataTypeSchema, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { makePrivateFolder } from "../../disk/private-file.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { Log } from "../log.ts";
import type { ChildProcess } from "../thread/child-process.ts";
import { Asking } from "./asking.ts";
import { decodeRows, encodeRows, type WideDecimals } from "./column-values.ts";
import { CHUNK_ROWS } from "./duckdb/chunk-vectors.ts";
import type { DatabaseProcess, DatabaseSettings } from "./duckdb/database-process.ts";
import { type DatabaseLimits, databaseConfig, machineLimits, processLimits } from "./duckdb/limits.ts";
import { quoteName, quoteText, type SqlColumn, shapeSql } from "./duckdb/sql-type.ts";
import { startDatabase } from "./duckdb/start-database.ts";
import {
  type ColumnProfile,
  type TableChunk,
  type TableColumn,
  type TableDescription,
  type TableEngine,
  TableError,
  type TableFormat,
  type TableWriter,
  type WrittenTable,
} from "./engine.ts";
import { inferredType, primitive } from "./inferred-type.ts";
import { select } from "./select.ts";
import { refuseSameNames, type Shape, shapeOf } from "./shape.ts";
import { type FailureContext, isChildEnded, isOutOfMemory, tableFailure } from "./table-failure.ts";
import {
  copyToParquet,
  copyToText,
  fileRelation,
  fileSql,
  parsedExpression,
  ROW_GROUP_ROWS,
  shapedExpression,
  TYPES_KEY,
  textExpression,
  typedRelation,
} from "./table-sql.ts";

/** Rows of a chunk that is read, unless another number is asked for. */
const READ_ROWS = 10_000;
/** Most columns of a table. */
const MAX_COLUMNS = 5_000;
/** Row groups that fit the engine's memory: one is built by each thread, in several copies. */
const GROUPS_IN_MEMORY = 16;
/** Times that a writer's rows are copied to its file at most, where memory did not suffice. */
const MOST_COPIES = 4;
/** Frames of a writer that are on their way at once. */
const FRAMES_AHEAD = 4;

/** What a table engine is made of. */
export interface TableEngineOptions {
  /** Folder for its temporary files; what is in it when it starts is removed. */
  readonly folder: string;
  /** Where a binary unpacks the library, the first that can be written. */
  readonly libraryFolders: readonly string[];
  readonly log: Log;
  /** Default: by the machine. */
  readonly limits?: DatabaseLimits;
  /** Called when a process was started, with its id. */
  readonly onStart?: (pid: number) => void;
}

type Database = ChildProcess<DatabaseProcess, DatabaseSettings>;

/** A connection of one call, in the process that it was made in. */
class Session {
  readonly #database: Database;
  readonly #generation: number;
  readonly #connection: number;

  private constructor(database: Database, generation: number, connection: number) {
    this.#database = database;
    this.#generation = generation;
    this.#connection = connection;
  }

  static async open(database: Database): Promise<Session> {
    const connection = await database.call("connect");
    return new Session(database, database.generation, connection);
  }

  run(sql: string): Promise<number> {
    return this.#database.callIn(this.#generation, "run", this.#connection, sql);
  }

  describe(sql: string): Promise<readonly SqlColumn[]> {
    return this.#database.callIn(this.#generation, "describe", this.#connection, sql);
  }

  beginAppend(table: string, shapes: readonly Shape[]): Promise<number> {
    return this.#database.callIn(this.#generation, "beginAppend", this.#connection, table, shapes);
  }

  append(appender: number, rows: number, frame: Uint8Array): Promise<void> {
    return this.#database.callIn(this.#generation, "append", appender, rows, frame);
  }

  endAppend(appender: number): Promise<void> {
    return this.#database.callIn(this.#generation, "endAppend", appender);
  }

  /** Rows of a statement whose columns have the shapes of these types, in chunks of so many. */
  async *read(sql: string, columns: readonly TableColumn[], chunkRows: number, signal?: AbortSignal): AsyncIterable<TableChunk> {
    const shapes = columns.map(({ dtype }) => shapeOf(dtype));
    const call = { database: this.#database, generation: this.#generation };
    const reading = await call.database.callIn(call.generation, "read", this.#connection, sql, shapes);
    const stop = (): void => void this.#database.callIn(this.#generation, "endReading", reading).catch(() => undefined);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      let held: FeatureValue[][] = columns.map(() => []);
      let done = false;
      while (!done) {
        signal?.throwIfAborted();
        const answer = await call.database.callIn(call.generation, "next", reading, chunkRows - (held[0]?.length ?? 0));
        signal?.throwIfAborted();
        done = answer.done;
        for (const { rows, bytes } of answer.frames)
          for (const [at, values] of decodeRows(bytes, columns, rows).entries()) for (const value of values) held[at]?.push(value);
        const most = held[0]?.length ?? 0;
        for (let from = 0; from < most; from += chunkRows) {
          const rows = Math.min(chunkRows, most - from);
          if (rows < chunkRows && !done) {
            held = held.map((values) => values.slice(from));
            break;
          }
          yield { rows, columns: held.map((values) => values.slice(from, from + rows)) };
          if (from + rows === most) held = columns.map(() => []);
        }
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** All rows of a statement that has few. */
  async rows(sql: string, columns: readonly TableColumn[]): Promise<FeatureValue[][]> {
    const rows: FeatureValue[][] = [];
    for await (const chunk of this.read(sql, columns, READ_ROWS))
      for (let row = 0; row < chunk.rows; row++) rows.push(chunk.columns.map((values) => values[row] as FeatureValue));
    return rows;
  }

  async close(): Promise<void> {
    await this.#database.callIn(this.#generation, "disconnect", this.#connection).catch(() => undefined);
  }
}

const INT64 = primitive(PrimitiveType.INT64);
const TEXT = primitive(PrimitiveType.STRING);
const FLOAT64 = primitive(PrimitiveType.FLOAT64);

/** The table engine; its process starts with the first call. */
export function createTableEngine({ folder, libraryFolders, log, limits = machineLimits(), onStart }: TableEngineOptions): TableEngine {
  const temporary = join(folder, "tmp");
  let database: Database | undefined;

  let isPrepared = false;
  const prepare = (): void => {
    if (isPrepared) return;
    rmSync(temporary, { recursive: true, force: true });
    makePrivateFolder(folder);
    mkdirSync(temporary, { mode: 0o700 });
    isPrepared = true;
  };
  const asking = new Asking({
    folder: () => {
      prepare();
      return temporary;
    },
    libraryFolders,
    ...(onStart && { onStart }),
  });
  const start = (): Database => {
    if (database) return database;
    prepare();
    database = startDatabase({
      name: "the table engine",
      settings: { libraryFolders, file: ":memory:", config: databaseConfig(limits, temporary) },
      limits: processLimits(limits),
      folder,
      ...(onStart && { onStart }),
      onEnd: (ended) => log.warning("the table engine ended and will be started again", { error: ended.message }),
    });
    return database;
  };

  /** Does something on a connection of its own. A process that dies in it is tried once more. */
  const inSession = async <T>(context: FailureContext, work: (session: Session) => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      let session: Session | undefined;
      try {
        session = await Session.open(start());
        return await work(session);
      } catch (error) {
        const failure = tableFailure(error, context);
        if (attempt === 1 && isChildEnded(error)) continue;
        throw failure;
      } finally {
        await session?.close();
      }
    }
  };

  return {
    async write(path, columns) {
      const shapes = shapesOf(columns);
      refuseUnusable(path);
      const names = columns.map((_, at) => `c${at}`);
      const session = await Session.open(start()).catch((error: unknown) => {
        throw tableFailure(error, { path });
      });
      try {
        await session.run(`CREATE TEMP TABLE written (${shapes.map((shape, at) => `${names[at]} ${shapeSql(shape)}`).join(", ")})`);
        return new ParquetWriter(
          session,
          await session.beginAppend("written", shapes),
          path,
          columns,
          limits.memoryBytes / GROUPS_IN_MEMORY,
        );
      } catch (error) {
        await session.close();
        throw tableFailure(error, { path });
      }
    },

    describe: async (path, format = "parquet") => {
      mustExist(path);
      return inSession({ path, isInput: true }, (session) => describeFile(session, path, format));
    },

    async *read(path, { format = "parquet", columns, offset = 0, limit, chunkRows = READ_ROWS, signal } = {}) {
      mustExist(path);
      signal?.throwIfAborted();
      if (columns) shapesOf(columns);
      const context = { path, isInput: true };
      const session = await Session.open(start()).catch((error: unknown) => {
        throw tableFailure(error, context);
      });
      try {
        const { wanted, query } = await readQuery(session, path, format, columns);
        const paged = `${query}${limit === undefined ? "" : ` LIMIT ${whole(limit)}`}${offset === 0 ? "" : ` OFFSET ${whole(offset)}`}`;
        yield* session.read(paged, wanted, Math.max(1, whole(chunkRows)), signal);
      } catch (error) {
        signal?.throwIfAborted();
        throw tableFailure(error, context);
      } finally {
        await session.close();
      }
    },

    async profile(paths) {
      for (const path of paths) mustExist(path);
      if (paths.length === 0) return [];
      return inSession({ path: paths[0] as string, isInput: true }, (session) => profileOf(session, paths));
    },

    async convert(paths, target, format) {
      for (const path of paths) mustExist(path);
      refuseUnusable(target);
      if (paths.length === 0) throw new TableError("refused", "there is no table to convert");
      return inSession({ path: target }, async (session) => {
        const { relation, columns } = await unionOf(session, paths);
        return writeWhole(target, async (partial) => {
          if (format === "parquet") {
            await session.run(copyToParquet(`SELECT * FROM ${relation}`, partial, typesText(columns)));
          } else {
            const list = columns.map(({ name, dtype }) => `${textExpression(quoteName(name), dtype, format)} AS ${quoteName(name)}`);
            await session.run(copyToText(`SELECT ${list.join(", ")} FROM ${relation}`, partial, format));
          }
          const [[rows] = []] = await session.rows(`SELECT count(*) FROM ${relation}`, [{ name: "rows", dtype: INT64 }]);
          return Number(rows);
        });
      });
    },

    async derive(path, target, { columns, where, offset = 0, limit }) {
      mustExist(path);
      shapesOf(columns);
      refuseUnusable(target);
      const bounds = `${limit === undefined ? "" : ` LIMIT ${whole(limit)}`}${offset === 0 ? "" : ` OFFSET ${whole(offset)}`}`;
      const rows = `(SELECT * FROM ${fileRelation(path, "parquet")}${bounds})`;
      const list = columns.map(({ name, sql }) => `${sql} AS ${quoteName(name)}`).join(", ");
      const query = `SELECT ${list} FROM ${rows}${where === undefined ? "" : ` WHERE ${where}`}`;
      return inSession({ path: target }, (session) =>
        writeWhole(target, (partial) => session.run(copyToParquet(query, partial, typesText(columns)))),
      );
    },

    async select(statement, sources, target, { limits: bounds, signal }) {
      refuseUnusable(target);
      prepare();
      const scratch = join(temporary, `select-${crypto.randomUUID()}`);
      return select({ statement, sources, target, limits: bounds, signal, scratch, libraryFolders, ...(onStart && { onStart }) });
    },

    ask: (asked, given, options) => asking.ask(asked, given, options),

    examine: (asked) => asking.examine(asked),

    async close() {
      await asking.close();
      const closing = database;
      await closing?.close();
      rmSync(temporary, { recursive: true, force: true });
    },
  };
}

/** A Parquet file that is being written: rows gather in a table, which becomes it at the end. */
class ParquetWriter implements TableWriter {
  readonly #session: Session;
  readonly #appender: number;
  readonly #path: string;
  readonly #columns: readonly TableColumn[];
  readonly #wide: WideDecimals[];
  readonly #ahead = new Set<Promise<void>>();
  readonly #groupBytes: number;
  #failure: unknown;
  #rows = 0;
  #bytes = 0;
  #isOver = false;

  /** @param groupBytes bytes of a row group at most, which is held in memory as a whole */
  constructor(session: Session, appender: number, path: string, columns: readonly TableColumn[], groupBytes: number) {
    this.#session = session;
    this.#appender = appender;
    this.#path = path;
    this.#columns = columns;
    this.#groupBytes = groupBytes;
    this.#wide = columns.map(() => ({ isWide: false }));
  }

  async append({ rows, columns }: TableChunk): Promise<void> {
    this.#mustBeOpen();
    if (columns.length !== this.#columns.length || columns.some((values) => values.length !== rows))
      throw new TableError("refused", `a chunk must have ${this.#columns.length} columns of ${rows} rows`);
    for (let from = 0; from < rows; from += CHUNK_ROWS) {
      const count = Math.min(CHUNK_ROWS, rows - from);
      const part = this.#columns.map(({ name, dtype }, at) => ({
        name,
        dtype,
        values: (columns[at] as readonly FeatureValue[]).slice(from, from + count),
      }));
      const frame = encodeRows(part, this.#wide);
      while (this.#ahead.size >= FRAMES_AHEAD) await Promise.race(this.#ahead);
      this.#mustWork();
      const sent: Promise<void> = this.#session
        .append(this.#appender, count, frame)
        .catch((error: unknown) => {
          this.#failure ??= error;
        })
        .finally(() => this.#ahead.delete(sent));
      this.#ahead.add(sent);
      this.#rows += count;
      this.#bytes += frame.length;
    }
    this.#mustWork();
  }

  async finish(): Promise<WrittenTable> {
    this.#mustBeOpen();
    this.#isOver = true;
    try {
      await Promise.all(this.#ahead);
      this.#mustWork();
      await this.#session.endAppend(this.#appender);
      const list = this.#columns.map(
        ({ name, dtype }, at) => `CAST(c${at} AS ${fileSql(dtype, this.#wide[at]?.isWide === true)}) AS ${quoteName(name)}`,
      );
      const query = `SELECT ${list.join(", ")} FROM written`;
      return await writeWhole(this.#path, async (partial) => {
        await this.#copy(query, partial);
        return this.#rows;
      });
    } catch (error) {
      throw tableFailure(error, { path: this.#path });
    } finally {
      await this.#session.close();
    }
  }

  /**
   * Writes the rows to the file. What threads hold at once depends on how they meet, so that rows
   * for which memory did not suffice are written again in smaller groups: they are all still there.
   */
  async #copy(query: string, partial: string): Promise<void> {
    const types = typesText(this.#columns);
    let groupRows = this.#groupRows();
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#session.run(copyToParquet(query, partial, types, groupRows));
        return;
      } catch (error) {
        if (attempt === MOST_COPIES || !isOutOfMemory(error)) throw error;
        groupRows = CHUNK_ROWS;
      }
    }
  }

  async abandon(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#session.close();
  }

  #groupRows(): number {
    const rows = Math.floor((this.#groupBytes * this.#rows) / Math.max(1, this.#bytes) / CHUNK_ROWS) * CHUNK_ROWS;
    return Math.max(CHUNK_ROWS, Math.min(ROW_GROUP_ROWS, rows));
  }

  #mustBeOpen(): void {
    if (this.#isOver) throw new TableError("refused", "the table is written already");
  }

  #mustWork(): void {
    if (this.#failure !== undefined) throw tableFailure(this.#failure, { path: this.#path });
  }
}

async function describeFile(session: Session, path: string, format: TableFormat): Promise<TableDescription> {
  const relation = fileRelation(path, format);
  const columns = await session.describe(`SELECT * FROM ${relation}`);
  const [[rows] = []] = await session.rows(
    format === "parquet" ? `SELECT num_rows FROM parquet_file_metadata(${quoteText(path)})` : `SELECT count(*) FROM ${relation}`,
    [{ name: "rows", dtype: INT64 }],
  );
  const types = format === "parquet" ? await statedTypes(session, path) : undefined;
  return { columns: columns.map((column, at) => ({ name: column.name, dtype: typeIn(column, types, at) })), rows: Number(rows) };
}

/** The types that a file's metadata states; undefined when it does not. */
async function statedTypes(session: Session, path: string): Promise<readonly TableColumn[] | undefined> {
  const text = await session.rows(
    `SELECT decode(value) FROM parquet_kv_metadata(${quoteText(path)}) WHERE decode(key) = ${quoteText(TYPES_KEY)}`,
    [{ name: "value", dtype: TEXT }],
  );
  try {
    const stated = JSON.parse(String(text[0]?.[0])) as { readonly name: string; readonly dtype: JsonValue }[];
    return stated.map(({ name, dtype }) => ({ name, dtype: fromJson(DataTypeSchema, dtype) }));
  } catch {
    return undefined;
  }
}

/** The type of a file's column: the stated one where it fits what is there. */
function typeIn(column: SqlColumn, stated: readonly TableColumn[] | undefined, at: number): DataType {
  const inferred = inferredType(column.type);
  const said = stated?.[at];
  if (said?.name !== column.name) return inferred;
  try {
    return shapeSql(shapeOf(said.dtype)) === shapeSql(shapeOf(inferred)) ? said.dtype : inferred;
  } catch {
    return inferred;
  }
}

/** The types of columns as a file's metadata tells them. */
export function typesText(columns: readonly TableColumn[]): string {
  return JSON.stringify(columns.map(({ name, dtype }) => ({ name, dtype: toJson(DataTypeSchema, dtype) })));
}

/** The query that reads a file, and the columns of its rows. */
async function readQuery(
  session: Session,
  path: string,
  format: TableFormat,
  columns: readonly TableColumn[] | undefined,
): Promise<{ readonly wanted: readonly TableColumn[]; readonly query: string }> {
  if (format !== "parquet" && columns)
    return {
      wanted: columns,
      query: `SELECT ${columns.map((column) => parsedExpression(column, format)).join(", ")} FROM ${typedRelation(path, format, columns)}`,
    };
  const relation = fileRelation(path, format);
  const found = await session.describe(`SELECT * FROM ${relation}`);
  const types = format === "parquet" ? await statedTypes(session, path) : undefined;
  const wanted = columns ?? found.map((column, at) => ({ name: column.name, dtype: typeIn(column, types, at) }));
  const list = wanted.map(({ name, dtype }) => {
    const column = found.find((one) => one.name === name);
    if (!column) throw new TableError("refused", `${path} has no column "${name}"; it has ${found.map((one) => one.name).join(", ")}`);
    return shapedExpression(name, column.type, dtype);
  });
  return { wanted, query: `SELECT ${list.join(", ")} FROM ${relation}` };
}

/** Rows of several Parquet files as one relation. Throws TableError when their columns differ. */
async function unionOf(
  session: Session,
  paths: readonly string[],
): Promise<{ readonly relation: string; readonly columns: readonly TableColumn[] }> {
  const files: { path: string; found: readonly SqlColumn[] }[] = [];
  for (const path of paths) files.push({ path, found: await session.describe(`SELECT * FROM ${fileRelation(path, "parquet")}`) });
  const [first] = files as [(typeof files)[number]];
  const types = await statedTypes(session, first.path);
  const columns = first.found.map((column, at) => ({ name: column.name, dtype: typeIn(column, types, at) }));
  const sameAsFirst = ({ found }: { readonly found: readonly SqlColumn[] }) => JSON.stringify(found) === JSON.stringify(first.found);
  if (files.every(sameAsFirst))
    return { relation: `read_parquet([${paths.map(quoteText).join(", ")}], hive_partitioning = false)`, columns };
  const parts = files.map(({ path, found }) => {
    const list = columns.map(({ name, dtype }) => {
      const column = found.find((one) => one.name === name);
      if (!column) throw new TableError("damaged", `${path} has no column "${name}", which ${first.path} has`);
      return `${shapedExpression(name, column.type, dtype)} AS ${quoteName(name)}`;
    });
    return `SELECT ${list.join(", ")} FROM ${fileRelation(path, "parquet")}`;
  });
  return { relation: `(${parts.join(" UNION ALL ")})`, columns };
}

async function profileOf(session: Session, paths: readonly string[]): Promise<readonly ColumnProfile[]> {
  const { relation, columns } = await unionOf(session, paths);
  const profiles: ColumnProfile[] = [];
  for (const { name, dtype } of columns) {
    const column = quoteName(name);
    const primitive = dtype.kind.case === "primitive" ? dtype.kind.value : dtype.kind.case === "enum" ? dtype.kind.value.base : undefined;
    const isOrdered = primitive !== undefined && primitive !== PrimitiveType.JSON && primitive !== PrimitiveType.BYTES;
    const isNumber = primitive === PrimitiveType.INT64 || primitive === PrimitiveType.FLOAT64 || primitive === PrimitiveType.DECIMAL;
    const ordered = primitive === PrimitiveType.DECIMAL ? `TRY_CAST(${column} AS DECIMAL(38, 9))` : column;
    const bound = (of: string) => (isOrdered ? textExpression(`${of}(${ordered})`, dtype, "csv") : "NULL");
    const [row = []] = await session.rows(
      `SELECT count(*) - count(${column}), approx_count_distinct(${column}), CAST(${bound("min")} AS VARCHAR), CAST(${bound("max")} AS VARCHAR), ` +
        `${isNumber ? `CAST(avg(${ordered}) AS DOUBLE)` : "CAST(NULL AS DOUBLE)"} FROM ${relation}`,
      [
        { name: "nulls", dtype: INT64 },
        { name: "distinct", dtype: INT64 },
        { name: "min", dtype: TEXT },
        { name: "max", dtype: TEXT },
        { name: "mean", dtype: FLOAT64 },
      ],
    );
    const [nulls, distinct, min, max, mean] = row;
    profiles.push({
      name,
      nulls: Number(nulls),
      distinct: Number(distinct),
      min: typeof min === "string" ? min : undefined,
      max: typeof max === "string" ? max : undefined,
      mean: typeof mean === "number" ? mean : undefined,
    });
  }
  return profiles;
}

/** Has a file written under another name, synced, and given its own: it appears whole. */
async function writeWhole(path: string, write: (partial: string) => Promise<number>): Promise<WrittenTable> {
  const partial = `${path}.${crypto.randomUUID()}.partial`;
  try {
    const rows = await write(partial);
    await sync(partial);
    const { size } = await stat(partial);
    await rename(partial, path);
    if (process.platform !== "win32") await sync(dirname(path));
    return { rows, bytes: size };
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function shapesOf(columns: readonly TableColumn[]): Shape[] {
  if (columns.length === 0) throw new TableError("refused", "a table needs a column");
  if (columns.length > MAX_COLUMNS) throw new TableError("refused", `a table has at most ${MAX_COLUMNS} columns, not ${columns.length}`);
  refuseSameNames(
    columns.map(({ name }) => name),
    "columns",
  );
  return columns.map(({ dtype }) => shapeOf(dtype));
}

function refuseUnusable(path: string): void {
  if (!existsSync(dirname(path))) throw new TableError("failed", `cannot write ${path}: there is no such folder`);
}

function mustExist(path: string): void {
  if (!existsSync(path)) throw new TableError("failed", `cannot read ${path}: no such file`);
}

function whole(count: number): number {
  if (!Number.isSafeInteger(count) || count < 0) throw new TableError("refused", `${count} is no number of rows`);
  return count;
}
