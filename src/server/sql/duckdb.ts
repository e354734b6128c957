/**
 * DuckDB files as sources, read only, in a process of their own. A file is attached while
 * statements read it and let go between them, because DuckDB lets nobody write a file that another
 * process has open.
 */

import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { countParameters, withoutTerminator } from "../../domain/sql/statement.ts";
import { SqlScanner } from "../../domain/sql/tokenize.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { FrameReader } from "../tables/column-frame.ts";
import { readValues } from "../tables/column-values.ts";
import type { BoundParameter, DatabaseProcess, DatabaseSettings } from "../tables/duckdb/database-process.ts";
import { databaseConfig, machineLimits, processLimits } from "../tables/duckdb/limits.ts";
import { quoteName, quoteText, type SqlColumn, type SqlType as TableType } from "../tables/duckdb/sql-type.ts";
import { startDatabase } from "../tables/duckdb/start-database.ts";
import { inferredType } from "../tables/inferred-type.ts";
import { shapeOf } from "../tables/shape.ts";
import { shapedExpression } from "../tables/table-sql.ts";
import { ChildEnded, type ChildProcess } from "../thread/child-process.ts";
import type { MethodArguments, MethodName, MethodResult } from "../thread/rpc.ts";
import type { ColumnType } from "./condition.ts";
import { ParameterError, SqlError, type SqlFault, type SqlResult, type SqlSource, type SqlType } from "./source.ts";
import type { SourceDriver } from "./source-driver.ts";
import { wordOffset } from "./statement-text.ts";

/** Statements that run at once; others wait. */
const CONNECTIONS = 4;
const CATALOG = "svc_source";
/** Longest wait for another process that writes the file. */
const LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 20;
/** Time after the last statement until the process ends. */
const IDLE_MS = 60_000;
/** Rows that are asked for at a time. */
const ROWS = 16_384;
/** Most bytes of the rows of one statement. */
const MAX_ROWS_BYTES = 256 * 1024 * 1024;
const DATA_FAULT = /^(?:Conversion|Out of Range|Invalid Input|Mismatch Type) Error/;

type Process = ChildProcess<DatabaseProcess, DatabaseSettings>;

/** A process with its connections. */
interface Running {
  readonly process: Process;
  readonly generation: number;
  /** The connection that attaches the file. */
  readonly keeper: number;
  /** Connections that run nothing. */
  readonly idle: number[];
  /** Statements that read the file. */
  readers: number;
  /** The last change of what is attached; they are made one after the other. */
  turn: Promise<void>;
}

/** A DuckDB file. */
export class DuckdbSource implements SqlSource {
  readonly kind = SourceKind.DUCKDB;
  readonly #path: string;
  readonly #closing = new AbortController();
  readonly #waiting: (() => void)[] = [];
  #running: Promise<Running> | undefined;
  #process: Process | undefined;
  #folder: string | undefined;
  /** Statements that run or wait. */
  #statements = 0;
  #idleTimer: Timer | undefined;

  /**
   * @param declaredPath as declared; relative to `root`
   * @param root the deployment's source folder
   * @param home where the library is unpacked; undefined = a temporary folder
   * @throws SqlError when the path is relative and there is no root
   */
  constructor(
    readonly name: string,
    private readonly declaredPath: string,
    root: string | undefined,
    private readonly home: string | undefined,
  ) {
    if (root === undefined && !isAbsolute(declaredPath))
      throw new SqlError(
        `source '${name}': ${declaredPath} is relative, and there is no deployment whose source folder it could start from`,
      );
    this.#path = resolve(root ?? "/", declaredPath);
  }

  quote(identifier: string): string {
    return quoteName(identifier);
  }

  placeholder(position: number, type?: "float"): string {
    return type === "float" ? `cast($${position} as double)` : `$${position}`;
  }

  async query(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal): Promise<SqlResult> {
    const bound = parameters.map(bindParameter);
    const body = withoutTerminator(statement, "duckdb");
    return this.#reading(statement, signal, async (call, connection) => {
      const columns = await call("describe", connection, withSamples(body, bound));
      if (columns.length === 0) throw new SqlError("a source is only read: the statement has no columns");
      const types = columns.map(({ type }) => inferredType(type));
      const selected = columns.map(({ type }, at) => `${shapedExpression(`c${at}`, type, types[at] as (typeof types)[number])} as c${at}`);
      const named = columns.map((_, at) => `c${at}`).join(", ");
      const text = `select ${selected.join(", ")} from (${body}\n) as svc_statement(${named})`;
      const shapes = types.map((type) => shapeOf(type));
      const reading = await call("read", connection, text, shapes, bound);
      const rows: unknown[][] = [];
      let bytes = 0;
      for (let done = false; !done; ) {
        const part = await call("next", reading, ROWS);
        done = part.done;
        for (const frame of part.frames) {
          bytes += frame.bytes.length;
          if (bytes > MAX_ROWS_BYTES) throw tooLarge(this.name);
          const from = new FrameReader(frame.bytes);
          const values = types.map((type, at) => readValues(from, type, frame.rows, columns[at]?.name ?? ""));
          for (let row = 0; row < frame.rows; row++) rows.push(values.map((column) => column[row]));
        }
      }
      return { columns: columns.map(({ name }) => name), types: columns.map(({ type }) => sqlType(type)), rows };
    });
  }

  async describe(statement: string): Promise<readonly string[]> {
    return (await this.#columns(statement)).map(({ name }) => name);
  }

  async columnTypes(statement: string): Promise<ReadonlyMap<string, ColumnType>> {
    const columns = await this.#columns(statement);
    const found = new Map<string, ColumnType>();
    for (const { name, type } of columns) {
      const known = "name" in type ? COMPARABLE[type.name] : undefined;
      if (known !== undefined && columns.filter((one) => one.name === name).length === 1) found.set(name, known);
    }
    return found;
  }

  async test(): Promise<void> {
    await this.query("select count(*) as tables from duckdb_tables()", []);
  }

  async close(): Promise<void> {
    this.#closing.abort(new SqlError(`source '${this.name}' is closed`));
    clearTimeout(this.#idleTimer);
    for (const go of this.#waiting.splice(0)) go();
    await this.#process?.close();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  #columns(statement: string): Promise<readonly SqlColumn[]> {
    const body = withoutTerminator(statement, "duckdb");
    const nulls = new Array<BoundParameter>(countParameters(body, "duckdb")).fill(null);
    return this.#reading(statement, undefined, async (call, connection) => {
      // In parentheses only a query can stand.
      await call("describe", connection, `select * from (${withSamples(body, nulls)}\n)`);
      return call("describe", connection, withSamples(body, nulls));
    });
  }

  /**
   * Runs work on a connection that sees the file. Throws SqlError; rejects with the reason of the
   * signal.
   */
  async #reading<T>(statement: string, signal: AbortSignal | undefined, work: (call: Call, connection: number) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const limited = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
    limited.throwIfAborted();
    this.#statements++;
    clearTimeout(this.#idleTimer);
    try {
      const running = await this.#start();
      const connection = await this.#connection(running, limited);
      const call: Call = (method, ...args) => running.process.callIn(running.generation, method, ...args);
      const onAbort = (): void => void call("interrupt", connection).catch(() => undefined);
      limited.addEventListener("abort", onAbort, { once: true });
      try {
        await this.#attach(running, call, limited);
        try {
          await call("run", connection, `use ${CATALOG}`);
          return await work(call, connection);
        } finally {
          await call("run", connection, "use memory").catch(() => undefined);
          await this.#detach(running, call);
        }
      } finally {
        limited.removeEventListener("abort", onAbort);
        running.idle.push(connection);
        this.#waiting.shift()?.();
      }
    } catch (error) {
      limited.throwIfAborted();
      throw this.#explain(error, statement);
    } finally {
      this.#statements--;
      if (this.#statements === 0 && !this.#closing.signal.aborted)
        this.#idleTimer = setTimeout(() => this.#process?.kill(), IDLE_MS).unref();
    }
  }

  /** The process, started unless it runs. */
  #start(): Promise<Running> {
    if (!existsSync(this.#path)) throw this.#missing();
    this.#running ??= this.#begin().catch((error: unknown) => {
      this.#running = undefined;
      throw error;
    });
    return this.#running;
  }

  async #begin(): Promise<Running> {
    this.#folder ??= mkdtempSync(join(tmpdir(), "svc-duckdb-"));
    const folder = this.#folder;
    const cache = this.home === undefined ? folder : join(this.home, "cache");
    mkdirSync(cache, { recursive: true });
    const limits = machineLimits();
    this.#process ??= startDatabase({
      name: `the process of source '${this.name}'`,
      folder,
      limits: processLimits(limits),
      settings: {
        libraryFolders: [cache, folder],
        file: ":memory:",
        config: { ...databaseConfig(limits, folder), home_directory: folder },
      },
      onEnd: () => {
        this.#running = undefined;
      },
    });
    const process = this.#process;
    const generation = process.start();
    const keeper = await process.callIn(generation, "connect");
    const idle: number[] = [];
    for (let at = 0; at < CONNECTIONS; at++) idle.push(await process.callIn(generation, "connect"));
    const paths = ["", ".wal"].map((end) => quoteText(`${this.#path}${end}`));
    for (const setting of [`allowed_paths = [${paths.join(", ")}]`, "enable_external_access = false", "lock_configuration = true"])
      await process.callIn(generation, "run", keeper, `set ${setting}`);
    return { process, generation, keeper, idle, readers: 0, turn: Promise.resolve() };
  }

  /** A connection that runs nothing, when there is one. */
  async #connection(running: Running, signal: AbortSignal): Promise<number> {
    while (true) {
      signal.throwIfAborted();
      const free = running.idle.pop();
      if (free !== undefined) return free;
      const { promise, resolve: settle } = Promise.withResolvers<void>();
      const go = (): void => settle();
      this.#waiting.push(go);
      signal.addEventListener("abort", go, { once: true });
      await promise;
      signal.removeEventListener("abort", go);
      const left = this.#waiting.indexOf(go);
      if (left >= 0) this.#waiting.splice(left, 1);
      else if (signal.aborted) this.#waiting.shift()?.();
    }
  }

  #attach(running: Running, call: Call, signal: AbortSignal): Promise<void> {
    return this.#inTurn(running, async () => {
      if (running.readers === 0) await this.#attachFile(running, call, signal);
      running.readers++;
    });
  }

  async #attachFile({ keeper }: Running, call: Call, signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + LOCK_WAIT_MS;
    while (true) {
      signal.throwIfAborted();
      try {
        await call("run", keeper, `attach ${quoteText(this.#path)} as ${CATALOG} (read_only)`);
        return;
      } catch (error) {
        const isLocked = error instanceof Error && /Could not set lock/i.test(error.message);
        if (!isLocked && error instanceof Error && !(error instanceof ChildEnded))
          throw new SqlError(`source '${this.name}': cannot open ${this.declaredPath}: ${error.message.replaceAll("\n", " ")}`);
        if (!isLocked) throw error;
        if (performance.now() >= deadline)
          throw new SqlError(
            `source '${this.name}': another process writes ${this.declaredPath}, and DuckDB lets nobody read it meanwhile`,
          );
        await Bun.sleep(LOCK_POLL_MS);
      }
    }
  }

  #detach(running: Running, call: Call): Promise<void> {
    return this.#inTurn(running, async () => {
      running.readers--;
      if (running.readers === 0) await call("run", running.keeper, `detach ${CATALOG}`).catch(() => undefined);
    });
  }

  #inTurn(running: Running, work: () => Promise<void>): Promise<void> {
    const done = running.turn.then(work);
    running.turn = done.catch(() => undefined);
    return done;
  }

  #missing(): SqlError {
    const where = isAbsolute(this.declaredPath) ? "" : `, looked up as ${this.#path}`;
    return new SqlError(`source '${this.name}': there is no file ${this.declaredPath}${where}`);
  }

  #explain(error: unknown, statement: string): unknown {
    if (error instanceof SqlError) return error;
    if (error instanceof ChildEnded)
      return new SqlError(`source '${this.name}': ${error.isMemory ? "the statement needs more memory than it may have" : error.message}`);
    if (!(error instanceof Error)) return error;
    const [what = ""] = error.message.split("\n\n");
    const message = what.replaceAll("\n", " ").replaceAll(this.#path, this.declaredPath).trim();
    const fault: SqlFault = DATA_FAULT.test(message) ? "data" : "statement";
    return new SqlError(message, placeIn(message, statement), fault);
  }
}

/** Calls of the process that runs now. */
type Call = <M extends MethodName<DatabaseProcess>>(
  method: M,
  ...args: MethodArguments<DatabaseProcess, M>
) => Promise<MethodResult<DatabaseProcess, M>>;

/** The driver of DuckDB files, configured by `<NAME>_DUCKDB_PATH`, or `path` in code. */
export const duckdbDriver: SourceDriver = {
  kind: SourceKind.DUCKDB,
  names: ["duckdb"],
  variable: "DUCKDB_PATH",
  open({ name, prefix, read, sourceRoot, home }) {
    const path = read("DUCKDB_PATH", "path");
    if (!path) throw new SqlError(`source '${name}' has no file: give \`path=\` in code or set ${prefix}_DUCKDB_PATH`);
    return new DuckdbSource(name, path, sourceRoot, home);
  },
};

/** Messages that quote the faulty part of the statement. */
const QUOTED = [/column "([^"]+)"/, /(?:Table|Function)(?: with name)? "?([^\s"]+)"?/, /at or near "([^"]+)"/];

function placeIn(message: string, statement: string): number | undefined {
  for (const pattern of QUOTED) {
    const quoted = pattern.exec(message)?.[1];
    const offset = quoted ? wordOffset(statement, quoted) : undefined;
    if (offset !== undefined) return offset;
  }
  return undefined;
}

function tooLarge(name: string): SqlError {
  const most = `${MAX_ROWS_BYTES / 1024 ** 2} MiB`;
  return new SqlError(
    `source '${name}': the rows are more than ${most}; select fewer columns, or add a \`limit\` or a condition`,
    undefined,
    "data",
  );
}

/**
 * A statement with a value of each parameter's type in its place, by which its columns are known.
 */
function withSamples(statement: string, parameters: readonly BoundParameter[]): string {
  const scanner = new SqlScanner(statement, "duckdb");
  let text = "";
  let from = 0;
  let dollarAt = -1;
  while (scanner.next()) {
    const { kind, start, end } = scanner;
    if (kind === "number" && start - 1 === dollarAt) {
      text += `${statement.slice(from, dollarAt)}${sampleOf(parameters[Number(statement.slice(start, end)) - 1])}`;
      from = end;
    }
    dollarAt = kind === "punctuation" && statement[start] === "$" ? start : -1;
  }
  return text + statement.slice(from);
}

function sampleOf(value: BoundParameter | undefined): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return "''";
  if (typeof value === "boolean") return "cast(null as boolean)";
  if (value instanceof Uint8Array) return "cast(null as blob)";
  return "int64" in value ? "cast(null as bigint)" : "cast(null as double)";
}

function bindParameter(value: FeatureValue, position: number): BoundParameter {
  switch (typeof value) {
    case "bigint":
      return { int64: String(value) };
    case "number":
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? { int64: String(value) } : { double: String(value) };
    case "boolean":
    case "string":
      return value;
    default:
      if (value === null || value instanceof Uint8Array) return value;
      throw new ParameterError(position, "is no single value, and statements of DuckDB are given none but those");
  }
}

function sqlType(type: TableType): SqlType {
  if ("list" in type) return { name: `${sqlType(type.list).name}[]` };
  if ("fields" in type) return { name: "struct" };
  const name = type.name.toLowerCase();
  return { name, ...(name === "uuid" && { kind: "uuid" as const }), ...(name === "interval" && { kind: "duration" as const }) };
}

const COMPARABLE: Readonly<Record<string, ColumnType>> = {
  TINYINT: "int",
  SMALLINT: "int",
  INTEGER: "int",
  BIGINT: "int",
  DOUBLE: "float",
  DECIMAL: "decimal",
  BOOLEAN: "bool",
  VARCHAR: "text",
  DATE: "date",
  TIMESTAMP: "timestamp",
  TIMESTAMP_TZ: "timestamptz",
};
