/**
 * Statements of projects over rows that are given with each call. Processes of their own answer
 * them, one call at a time each; they are locked as those of people's statements are, have no
 * table but the call's, and end when nobody has asked for a while.
 */

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { widening } from "../../domain/expressions/types.ts";
import { type FeatureValue, primitiveOf, typeName } from "../../domain/value.ts";
import { ChildEnded, type ChildProcess } from "../thread/child-process.ts";
import { decodeRows, encodeRows, type WideDecimals } from "./column-values.ts";
import { CHUNK_ROWS } from "./duckdb/chunk-vectors.ts";
import type { DatabaseSettings } from "./duckdb/database-process.ts";
import { quoteName, type SqlColumn, type SqlType, shapeSql } from "./duckdb/sql-type.ts";
import { startDatabase } from "./duckdb/start-database.ts";
import type { StatementProcess } from "./duckdb/statement-process.ts";
import { type AskedStatement, type SelectLimits, type StatementFault, type TableChunk, type TableColumn, TableError } from "./engine.ts";
import { inferredType } from "./inferred-type.ts";
import { MAX_STATEMENT_BYTES, STATEMENT_MEMORY, statementConfig } from "./select.ts";
import { shapeOf } from "./shape.ts";
import { plainMessage } from "./table-failure.ts";
import { fileSql, shapedExpression } from "./table-sql.ts";

/** Processes that answer at once; others wait for one. */
const MOST_PROCESSES = 4;
/** Milliseconds without a call after which a process ends. */
const IDLE_MS = 30_000;
/** Milliseconds in which a statement is examined. */
const EXAMINE_MS = 10_000;
/** Tables of the process that no statement can name. */
const GIVEN = quoteName("svc given rows");
const ANSWER = quoteName("svc answer");

/** What asking needs. */
export interface AskingOptions {
  /** An existing folder for what processes need. */
  readonly folder: () => string;
  readonly libraryFolders: readonly string[];
  readonly onStart?: (pid: number) => void;
}

/** The processes that answer. */
export class Asking {
  readonly #idle: AskedProcess[] = [];
  readonly #all = new Set<AskedProcess>();
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(readonly options: AskingOptions) {}

  /** Answers a statement about rows. Rejects with TableError, or the signal's reason. */
  ask(
    asked: AskedStatement,
    given: TableChunk,
    { limits, signal }: { readonly limits: SelectLimits; readonly signal: AbortSignal | undefined },
  ): Promise<TableChunk> {
    return this.#use(limits.timeoutMs, signal, (process) => process.answer(asked, given, limits));
  }

  /** What is wrong with a statement; undefined = nothing is. Rejects with TableError. */
  examine(asked: AskedStatement): Promise<StatementFault | undefined> {
    return this.#use(EXAMINE_MS, undefined, (process) => process.examine(asked));
  }

  /** Ends the processes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const turn of this.#waiting.splice(0)) turn();
    await Promise.all([...this.#all].map((process) => this.#end(process)));
  }

  async #use<T>(timeoutMs: number, signal: AbortSignal | undefined, work: (process: AskedProcess) => Promise<T>): Promise<T> {
    const process = await this.#take();
    let isTimedOut = false;
    const stop = (): void => process.kill();
    const timer = setTimeout(() => {
      isTimedOut = true;
      stop();
    }, timeoutMs);
    signal?.addEventListener("abort", stop, { once: true });
    let isSound = false;
    try {
      signal?.throwIfAborted();
      const value = await work(process);
      isSound = true;
      return value;
    } catch (error) {
      signal?.throwIfAborted();
      if (isTimedOut) throw new TableError("exhausted", `the statement took longer than ${timeoutMs / 1000} s, and was stopped`);
      const failure = failureOf(error);
      isSound = failure instanceof TableError && failure.code === "refused";
      throw failure;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      if (isSound && !isTimedOut && !this.#isClosed) this.#giveBack(process);
      else await this.#end(process);
      this.#waiting.shift()?.();
    }
  }

  async #take(): Promise<AskedProcess> {
    for (;;) {
      if (this.#isClosed) throw new TableError("unavailable", "the table engine is closed");
      const idle = this.#idle.pop();
      if (idle) {
        clearTimeout(idle.ending);
        return idle;
      }
      if (this.#all.size < MOST_PROCESSES) {
        const process = new AskedProcess(this.options);
        this.#all.add(process);
        return process;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    }
  }

  #giveBack(process: AskedProcess): void {
    process.ending = setTimeout(() => {
      this.#idle.splice(this.#idle.indexOf(process), 1);
      void this.#end(process);
    }, IDLE_MS);
    process.ending.unref();
    this.#idle.push(process);
  }

  async #end(process: AskedProcess): Promise<void> {
    clearTimeout(process.ending);
    this.#all.delete(process);
    await process.close();
  }
}

/** A process with its one connection. */
class AskedProcess {
  readonly #process: ChildProcess<StatementProcess, DatabaseSettings>;
  readonly #folder: string;
  #generation = 0;
  /** 0 = there is none yet. */
  #connection = 0;
  /** Ends it when nobody asks. */
  ending: Timer | undefined;

  constructor({ folder, libraryFolders, onStart }: AskingOptions) {
    this.#folder = join(folder(), `ask-${crypto.randomUUID()}`);
    mkdirSync(this.#folder, { mode: 0o700 });
    this.#process = startDatabase<StatementProcess>({
      name: "the statement's process",
      verb: "__statement",
      folder: this.#folder,
      limits: { residentBytes: STATEMENT_MEMORY.resident, dataBytes: STATEMENT_MEMORY.data },
      settings: { libraryFolders, file: ":memory:", config: statementConfig(this.#folder) },
      ...(onStart && { onStart }),
    });
  }

  kill(): void {
    this.#process.kill();
  }

  async close(): Promise<void> {
    this.#process.kill();
    await this.#process.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async examine(asked: AskedStatement): Promise<StatementFault | undefined> {
    try {
      const fault = await this.#open(asked, []);
      if (fault) return fault;
      const columns = await this.#describe(asked.statement);
      const problem = unfitting(columns, asked.answer);
      return problem === undefined ? undefined : { problem, offset: undefined };
    } catch (error) {
      const failure = failureOf(error);
      if (!(failure instanceof TableError) || failure.code !== "refused") throw failure;
      const bytes = said(error)?.position;
      return { problem: failure.message, offset: bytes === undefined ? undefined : characters(asked.statement, bytes) };
    }
  }

  async answer(asked: AskedStatement, { rows, columns }: TableChunk, limits: SelectLimits): Promise<TableChunk> {
    const wide = asked.columns.map((): WideDecimals => ({ isWide: false }));
    const frames: { readonly rows: number; readonly frame: Uint8Array }[] = [];
    for (let from = 0; from < rows; from += CHUNK_ROWS) {
      const count = Math.min(CHUNK_ROWS, rows - from);
      const part = asked.columns.map((column, at) => ({ ...column, values: (columns[at] ?? []).slice(from, from + count) }));
      frames.push({ rows: count, frame: encodeRows(part, wide) });
    }
    const tooWide = asked.columns[wide.findIndex(({ isWide }) => isWide)];
    if (tooWide) throw new TableError("refused", `a decimal of ${tooWide.name} has more than 29 digits before the point or 9 behind it`);
    const fault = await this.#open(asked, frames);
    if (fault) throw new TableError("refused", fault.problem);
    const found = await this.#describe(asked.statement);
    const problem = unfitting(found, asked.answer);
    if (problem !== undefined) throw new TableError("refused", problem);
    await this.#run(`CREATE TEMP VIEW ${ANSWER}(${found.map((_, at) => `c${at}`).join(", ")}) AS\n${asked.statement}`);
    const list = asked.answer.map(({ name, dtype }) => {
      const at = found.findIndex((column) => isNamed(column, name));
      return shapedExpression(`c${at}`, (found[at] as SqlColumn).type, dtype);
    });
    return this.#read(`SELECT ${list.join(", ")} FROM ${ANSWER}`, asked.answer, limits);
  }

  async #read(sql: string, columns: readonly TableColumn[], limits: SelectLimits): Promise<TableChunk> {
    const shapes = columns.map(({ dtype }) => shapeOf(dtype));
    const reading = await this.#process.callIn(this.#generation, "read", this.#connection, sql, shapes);
    const values: FeatureValue[][] = columns.map(() => []);
    let [rows, size] = [0, 0];
    for (let done = false; !done; ) {
      const part = await this.#process.callIn(this.#generation, "next", reading, CHUNK_ROWS);
      done = part.done;
      for (const frame of part.frames) {
        rows += frame.rows;
        size += frame.bytes.byteLength;
        if (rows > limits.rows) throw new TableError("exhausted", `the statement gives more than ${limits.rows} rows`);
        if (size > limits.bytes) throw new TableError("exhausted", `the rows of the statement take more than ${limits.bytes} bytes`);
        for (const [at, column] of decodeRows(frame.bytes, columns, frame.rows).entries())
          for (const value of column) values[at]?.push(value);
      }
    }
    return { rows, columns: values };
  }

  /** Makes the call's table of its rows, or says why the statement cannot be asked. */
  async #open(
    { columns, statement, table }: AskedStatement,
    frames: readonly { readonly rows: number; readonly frame: Uint8Array }[],
  ): Promise<StatementFault | undefined> {
    if (Buffer.byteLength(statement) > MAX_STATEMENT_BYTES)
      return { problem: `it is longer than ${MAX_STATEMENT_BYTES / 1024} KiB`, offset: undefined };
    if (this.#connection === 0) await this.#connect();
    const names = await this.#process.callIn(this.#generation, "names", this.#connection, statement);
    if ("refusal" in names) return faultAt(statement, names.refusal.message, names.refusal.at);
    const foreign = names.tables.find(({ name }) => name.length > 1 || name[0]?.toLowerCase() !== table.toLowerCase());
    if (foreign) return faultAt(statement, `there is no table ${foreign.name.join(".")}, only ${table}`, foreign.at);
    await this.#run(`DROP VIEW IF EXISTS ${ANSWER}`);
    const shapes = columns.map(({ dtype }) => shapeOf(dtype));
    await this.#run(`CREATE OR REPLACE TEMP TABLE ${GIVEN} (${shapes.map((shape, at) => `c${at} ${shapeSql(shape)}`).join(", ")})`);
    const list = columns.map(({ name, dtype }, at) => `CAST(c${at} AS ${fileSql(dtype, false)}) AS ${quoteName(name)}`);
    await this.#run(`CREATE OR REPLACE TEMP VIEW ${quoteName(table)} AS SELECT ${list.join(", ")} FROM ${GIVEN}`);
    if (frames.length > 0) {
      const appender = await this.#process.callIn(this.#generation, "beginAppend", this.#connection, "svc given rows", shapes);
      for (const { rows, frame } of frames) await this.#process.callIn(this.#generation, "append", appender, rows, frame);
      await this.#process.callIn(this.#generation, "endAppend", appender);
    }
    return undefined;
  }

  /** Opens the connection, and locks the process. */
  async #connect(): Promise<void> {
    this.#generation = this.#process.start();
    this.#connection = await this.#process.callIn(this.#generation, "connect");
    for (const setting of ["errors_as_json = true", "enable_external_access = false", "lock_configuration = true"])
      await this.#run(`SET ${setting}`);
  }

  async #run(sql: string): Promise<void> {
    await this.#process.callIn(this.#generation, "run", this.#connection, sql);
  }

  #describe(statement: string): Promise<readonly SqlColumn[]> {
    return this.#process.callIn(this.#generation, "describe", this.#connection, statement);
  }
}

/** Why the columns of a statement are not those of its answer; undefined when they are. */
function unfitting(found: readonly SqlColumn[], answer: readonly TableColumn[]): string | undefined {
  const wanted = answer.map(({ name }) => name).join(", ");
  for (const [at, column] of found.entries()) {
    if (!answer.some(({ name }) => isNamed(column, name))) return `its column ${column.name} is none of the outputs, which are ${wanted}`;
    if (found.findIndex(({ name }) => isNamed(column, name)) < at) return `it has two columns ${column.name}`;
  }
  for (const { name, dtype } of answer) {
    const column = found.find((one) => isNamed(one, name));
    if (!column) return `it has no column ${name}; its columns are named as the outputs, which are ${wanted}`;
    if (!fits(column.type, dtype))
      return `its column ${name} is ${sqlWords(column.type)}, and the feature is ${typeName(dtype)}: cast it, or name another column`;
  }
  return undefined;
}

function isNamed(column: Pick<SqlColumn, "name">, name: string): boolean {
  return column.name.toLowerCase() === name.toLowerCase();
}

function fits(type: SqlType, dtype: DataType): boolean {
  if ("name" in type && type.name === "SQLNULL") return true;
  if ("name" in type && type.name === "DECIMAL" && primitiveOf(dtype) === PrimitiveType.FLOAT64) return true;
  return widening(inferredType(type), dtype) !== undefined;
}

function sqlWords(type: SqlType): string {
  if ("list" in type) return `${sqlWords(type.list)}[]`;
  return "fields" in type ? "a STRUCT" : type.name;
}

/** What the engine says of a failure. */
interface EngineFailure {
  readonly kind: string;
  readonly message: string;
  /** Bytes of the statement before it; undefined = it does not tell. */
  readonly position: number | undefined;
}

function said(error: unknown): EngineFailure | undefined {
  try {
    const { exception_type, exception_message, position } = JSON.parse((error as Error).message) as Readonly<Record<string, string>>;
    if (exception_type === undefined || exception_message === undefined) return undefined;
    return { kind: exception_type, message: exception_message, position: position === undefined ? undefined : Number(position) };
  } catch {
    return undefined;
  }
}

/** The error for what a call failed with. */
function failureOf(error: unknown): unknown {
  if (error instanceof TableError) return error;
  if (error instanceof ChildEnded)
    return error.isMemory ? OUT_OF_MEMORY : new TableError("failed", `the statement ended its process: ${error.message}`);
  const failure = said(error);
  if (!failure) return error instanceof Error ? new TableError("failed", plainMessage(error.message)) : error;
  if (/^out of memory$/i.test(failure.kind)) return OUT_OF_MEMORY;
  const text = (failure.message.split("\n\n")[0] ?? "").replaceAll("\n", " ").trim();
  return new TableError(/^(IO|Internal|Fatal|Interrupt)$/i.test(failure.kind) ? "failed" : "refused", text);
}

const OUT_OF_MEMORY = new TableError(
  "exhausted",
  `the statement needs more memory than it may have (${STATEMENT_MEMORY.engine / 1024 ** 2} MiB)`,
);

function faultAt(statement: string, problem: string, bytes: number | undefined): StatementFault {
  return { problem, offset: bytes === undefined ? undefined : characters(statement, bytes) };
}

/** The offset in UTF-16 units of one in bytes. */
function characters(statement: string, bytes: number): number {
  return Buffer.from(statement).subarray(0, bytes).toString().length;
}
