/**
 * The answer to a person's statement: by a process of its own, which is given nothing but the
 * tables that the statement names, and is locked before anything but the parser looks at the
 * statement.
 */

import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { ChildEnded, type ChildProcess } from "../thread/child-process.ts";
import type { DatabaseSettings } from "./duckdb/database-process.ts";
import { quoteName, quoteText, type SqlColumn, type SqlType } from "./duckdb/sql-type.ts";
import { startDatabase } from "./duckdb/start-database.ts";
import { lineAt } from "./duckdb/statement-names.ts";
import type { StatementProcess } from "./duckdb/statement-process.ts";
import { type NamedTable, type SelectedTable, type SelectLimits, type TableColumn, TableError, type TableSource } from "./engine.ts";
import { inferredType, isReadAsJson, primitive } from "./inferred-type.ts";
import { plainMessage } from "./table-failure.ts";
import { copyToParquet, fileSql } from "./table-sql.ts";

const MIB = 1024 ** 2;
/** Memory of the engine, of the process, and of its data. */
export const STATEMENT_MEMORY = { engine: 512 * MIB, resident: 1_536 * MIB, data: 4_096 * MIB };
/** Milliseconds between two looks at the size of the answer. */
const SIZE_LOOK_MS = 50;
/** Longest statement in bytes. */
export const MAX_STATEMENT_BYTES = 256 * 1024;

/** What a statement is answered with. */
export interface Selecting {
  readonly statement: string;
  readonly sources: readonly TableSource[] | ((named: readonly NamedTable[]) => Promise<readonly TableSource[]>);
  readonly target: string;
  readonly limits: SelectLimits;
  readonly signal: AbortSignal;
  /** New folder for what it needs meanwhile. */
  readonly scratch: string;
  readonly libraryFolders: readonly string[];
  readonly onStart?: (pid: number) => void;
}

type Process = ChildProcess<StatementProcess, DatabaseSettings>;

/** Answers a statement. Rejects with TableError, or the signal's reason. */
export async function select(order: Selecting): Promise<SelectedTable> {
  const { statement, scratch, signal, onStart } = order;
  signal.throwIfAborted();
  if (Buffer.byteLength(statement) > MAX_STATEMENT_BYTES)
    throw new TableError("refused", `the statement is longer than ${MAX_STATEMENT_BYTES / 1024} KiB`);
  mkdirSync(scratch, { mode: 0o700 });
  const process: Process = startDatabase<StatementProcess>({
    name: "the statement's process",
    verb: "__statement",
    folder: scratch,
    limits: { residentBytes: STATEMENT_MEMORY.resident, dataBytes: STATEMENT_MEMORY.data },
    settings: {
      libraryFolders: order.libraryFolders,
      file: ":memory:",
      config: statementConfig(scratch),
    },
    ...(onStart && { onStart }),
  });
  const run = new Run(order, process);
  try {
    return await run.answer();
  } catch (error) {
    signal.throwIfAborted();
    throw run.failure(error);
  } finally {
    run.end();
    process.kill();
    await process.close();
    rmSync(scratch, { recursive: true, force: true });
    await rm(run.partial, { force: true });
    await rm(run.second, { force: true });
  }
}

/** Settings of a database that answers statements, with a folder of its own. */
export function statementConfig(folder: string): Record<string, string> {
  return {
    memory_limit: `${STATEMENT_MEMORY.engine / MIB}MiB`,
    threads: "2",
    temp_directory: "",
    home_directory: folder,
    extension_directory: folder,
    secret_directory: folder,
  };
}

/** One statement from its process's start to its answer. */
class Run {
  readonly partial: string;
  /** The answer written again, where its rows or types have to change. */
  readonly second: string;
  readonly #order: Selecting;
  readonly #process: Process;
  readonly #generation: number;
  readonly #onAbort = (): void => this.#process.kill();
  #connection = 0;
  #timer: Timer | undefined;
  /** Rows that the last copy wrote. */
  #written = 0;
  #isTimedOut = false;
  #isTooLarge = false;
  /** What the caller's tables could not be given for. */
  #refusal: unknown;

  constructor(order: Selecting, process: Process) {
    this.#order = order;
    this.#process = process;
    const id = crypto.randomUUID();
    this.partial = `${order.target}.${id}.partial`;
    this.second = `${order.target}.${id}.second.partial`;
    this.#generation = process.start();
    order.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  async answer(): Promise<SelectedTable> {
    const { statement, limits, target } = this.#order;
    this.#connection = await this.#process.callIn(this.#generation, "connect");
    const found = await this.#process.callIn(this.#generation, "names", this.#connection, statement);
    if ("refusal" in found) throw new TableError("refused", placed(statement, found.refusal.message, found.refusal.at));
    const named = found.tables.map(({ name, at }) => ({ name, line: at === undefined ? undefined : lineAt(statement, at).line }));
    const sources = await this.#sources(named);
    this.#limitTime();
    await this.#open(sources);
    const columns = await this.#process.callIn(this.#generation, "describe", this.#connection, statement);
    if (columns.length === 0) throw new TableError("refused", "the statement has no columns");
    const names = uniqueNames(columns);
    const list = columns.map((_, at) => `c${at}`).join(", ");
    await this.#run(`CREATE TEMP VIEW answer(${list}) AS\n${statement}`);
    const first = columns.map(({ type }, at) => `${answerExpression(`c${at}`, type)} AS ${quoteName(names[at] as string)}`);
    await this.#copy(`SELECT ${first.join(", ")} FROM answer LIMIT ${limits.rows + 1}`, this.partial);
    const { rows, isTruncated, integers } = await this.#settle(columns, names);
    const { size } = await stat(this.partial);
    if (size > limits.bytes) throw this.#tooLarge();
    await rename(this.partial, target);
    const typed = columns.map(({ type }, at) => ({
      name: names[at] as string,
      dtype: isWide(type) && !integers.has(at) ? primitive(PrimitiveType.DECIMAL) : inferredType(type),
    }));
    return { rows, bytes: size, truncated: isTruncated, columns: typed };
  }

  /** The error for what a run failed with. */
  failure(error: unknown): unknown {
    const { limits, statement } = this.#order;
    if (this.#isTooLarge) return this.#tooLarge();
    if (this.#isTimedOut)
      return new TableError("exhausted", `the statement took longer than ${limits.timeoutMs / 1000} s, and was stopped`);
    if (error instanceof TableError || error === this.#refusal) return error;
    if (error instanceof ChildEnded)
      return error.isMemory ? outOfMemory() : new TableError("failed", `the statement ended its process: ${error.message}`);
    if (!(error instanceof Error)) return error;
    if (/^Out of Memory Error|bad_alloc|out of memory/i.test(error.message)) return outOfMemory();
    if (/no space left/i.test(error.message)) return new TableError("failed", "the answer cannot be written: no space left on the device");
    const kind =
      /^(Parser|Binder|Catalog|Conversion|Invalid Input|Out of Range|Constraint|Not implemented|Syntax|Mismatch Type|Permission|Invalid Type)/i;
    const message = this.#withoutPaths(plainMessage(error.message));
    return new TableError(kind.test(error.message) ? "refused" : "failed", inOrder(message, statement));
  }

  end(): void {
    this.#order.signal.removeEventListener("abort", this.#onAbort);
    clearTimeout(this.#timer);
  }

  async #sources(named: readonly NamedTable[]): Promise<readonly TableSource[]> {
    const { sources } = this.#order;
    const given =
      typeof sources === "function"
        ? await sources(named).catch((error: unknown) => {
            this.#refusal = error;
            throw error;
          })
        : sources;
    const same = (one: readonly string[], other: readonly string[]) =>
      one.length === other.length && one.every((part, at) => part.toLowerCase() === other[at]?.toLowerCase());
    for (const { name, line } of named)
      if (!given.some((source) => same(source.name, name)))
        throw new TableError("refused", `there is no table ${name.join(".")}${line === undefined ? "" : ` (line ${line})`}`);
    return given.filter((source) => named.some(({ name }) => same(source.name, name)));
  }

  /** Makes the tables, and locks the process. */
  async #open(sources: readonly TableSource[]): Promise<void> {
    const catalogs = new Set<string>();
    const schemas = new Set<string>();
    const paths: string[] = [this.partial, this.second];
    for (const [at, { name, paths: files, columns }] of sources.entries()) {
      const [table, schema, catalog] = name.toReversed();
      if (catalog !== undefined && !catalogs.has(catalog.toLowerCase())) {
        catalogs.add(catalog.toLowerCase());
        await this.#run(`ATTACH ':memory:' AS ${quoteName(catalog)}`);
      }
      const inside = [...(catalog === undefined ? [] : [catalog]), ...(schema === undefined ? [] : [schema])].map(quoteName).join(".");
      if (schema !== undefined && !schemas.has(inside.toLowerCase())) {
        schemas.add(inside.toLowerCase());
        await this.#run(`CREATE SCHEMA IF NOT EXISTS ${inside}`);
      }
      const view = `${inside === "" ? "" : `${inside}.`}${quoteName(table as string)}`;
      const links = files.map((file, index) => this.#link(file, `${at}-${index}.parquet`));
      paths.push(...files);
      const body = await this.#relation(links, columns);
      await this.#run(`CREATE VIEW ${view} AS ${body}`);
    }
    await this.#run(`SET allowed_paths = [${paths.map(quoteText).join(", ")}]`);
    await this.#run("SET enable_external_access = false");
    await this.#run("SET lock_configuration = true");
  }

  /** The rows of files one after another. Decimals of files that hold them otherwise are text. */
  async #relation(files: readonly string[], columns: readonly TableColumn[]): Promise<string> {
    const listed = (isWide: boolean, value: (name: string) => string): string =>
      columns.map(({ name, dtype }) => `CAST(${value(quoteName(name))} AS ${fileSql(dtype, isWide)}) AS ${quoteName(name)}`).join(", ");
    if (files.length === 0) return `SELECT ${listed(false, () => "NULL")} WHERE false`;
    const each = files.map((file) => `read_parquet(${quoteText(file)}, hive_partitioning = false)`);
    const types = new Set<string>();
    for (const file of each)
      types.add(JSON.stringify(await this.#process.callIn(this.#generation, "describe", this.#connection, `SELECT * FROM ${file}`)));
    if (types.size === 1) return `SELECT * FROM read_parquet([${files.map(quoteText).join(", ")}], hive_partitioning = false)`;
    return each.map((file) => `SELECT ${listed(true, (name) => name)} FROM ${file}`).join(" UNION ALL ");
  }

  /** A name for a file in the process's own folder: its path is nothing for a person to see. */
  #link(file: string, name: string): string {
    try {
      symlinkSync(file, join(this.#order.scratch, name));
      return name;
    } catch {
      return file;
    }
  }

  /**
   * Writes the answer again where it has more rows than it may, or sums whose values fit integers.
   */
  async #settle(columns: readonly SqlColumn[], names: readonly string[]): Promise<Settled> {
    const { limits } = this.#order;
    const from = `read_parquet(${quoteText(this.partial)}, hive_partitioning = false)`;
    const written = this.#written;
    const isTruncated = written > limits.rows;
    const integers = new Set<number>();
    for (const at of columns.flatMap(({ type }, index) => (isWide(type) ? [index] : []))) {
      const name = quoteName(names[at] as string);
      const tooLarge = `SELECT 1 FROM ${from} WHERE TRY_CAST(${name} AS BIGINT) IS NULL AND ${name} IS NOT NULL LIMIT 1`;
      await this.#run(`CREATE OR REPLACE TEMP TABLE too_large AS ${tooLarge}`);
      if ((await this.#run("DELETE FROM too_large")) === 0) integers.add(at);
    }
    if (!isTruncated && integers.size === 0) return { rows: written, isTruncated, integers };
    const list = names.map((name, at) => (integers.has(at) ? `CAST(${quoteName(name)} AS BIGINT) AS ${quoteName(name)}` : quoteName(name)));
    await this.#copy(`SELECT ${list.join(", ")} FROM ${from} LIMIT ${limits.rows}`, this.second);
    await rename(this.second, this.partial);
    return { rows: Math.min(written, limits.rows), isTruncated, integers };
  }

  async #copy(query: string, path: string): Promise<void> {
    const watch = setInterval(async () => {
      const size = await stat(path).then(
        (found) => found.size,
        () => 0,
      );
      if (size <= this.#order.limits.bytes) return;
      this.#isTooLarge = true;
      this.#process.kill();
    }, SIZE_LOOK_MS);
    try {
      this.#written = await this.#run(copyToParquet(query, path, "[]"));
    } finally {
      clearInterval(watch);
    }
  }

  #run(sql: string): Promise<number> {
    return this.#process.callIn(this.#generation, "run", this.#connection, sql);
  }

  /** Has the process killed at the limit: an interruption would not end every function. */
  #limitTime(): void {
    this.#timer = setTimeout(() => {
      this.#isTimedOut = true;
      this.#process.kill();
    }, this.#order.limits.timeoutMs);
  }

  #tooLarge(): TableError {
    const { bytes } = this.#order.limits;
    return new TableError("exhausted", `the answer is larger than ${Math.floor(bytes / MIB)} MiB; ask for fewer columns or rows`);
  }

  #withoutPaths(message: string): string {
    return [this.#order.scratch, this.partial, this.second, this.#order.target].reduce(
      (text, path) => text.replaceAll(path, "(file)"),
      message,
    );
  }
}

/** An answer as it is to be. */
interface Settled {
  readonly rows: number;
  readonly isTruncated: boolean;
  /** Columns of wide integers that were written as 64-bit ones. */
  readonly integers: ReadonlySet<number>;
}

function isWide(type: SqlType): boolean {
  return "name" in type && WIDE_INTEGERS.has(type.name);
}

/** Integers of more than 64 bits, and unsigned ones. */
const WIDE_INTEGERS: ReadonlySet<string> = new Set(["HUGEINT", "UHUGEINT", "UBIGINT", "BIGNUM"]);
/** Types that files do not have as they are. */
const AS_TEXT: ReadonlySet<string> = new Set(["INTERVAL", "TIME", "TIME_TZ", "TIME_NS", "UUID", "BIT", "ENUM", "SQLNULL", "GEOMETRY"]);

/** A column of an answer as a file holds it. */
function answerExpression(column: string, type: SqlType): string {
  if (isReadAsJson(type)) return `to_json(${column})`;
  const target = answerSql(type);
  return target === undefined ? column : `CAST(${column} AS ${target})`;
}

/** The SQL type as which a column is written; undefined when it stays what it is. */
function answerSql(type: SqlType): string | undefined {
  if ("list" in type) {
    const element = answerSql(type.list);
    return element === undefined ? undefined : `${element}[]`;
  }
  if ("fields" in type) {
    const fields = type.fields.map((field) => ({ name: field.name, target: answerSql(field.type) }));
    if (fields.every(({ target }) => target === undefined)) return undefined;
    return `STRUCT(${type.fields.map((field, at) => `${quoteName(field.name)} ${fields[at]?.target ?? fileSql(inferredType(field.type), false)}`).join(", ")})`;
  }
  if (WIDE_INTEGERS.has(type.name)) return "DECIMAL(38, 0)";
  if (AS_TEXT.has(type.name)) return "VARCHAR";
  return /^TIMESTAMP(_S|_MS|_NS)?$/.test(type.name) ? "TIMESTAMP WITH TIME ZONE" : undefined;
}

/** Names of columns that are told apart, whatever the case: a second `a` is `a_1`. */
function uniqueNames(columns: readonly SqlColumn[]): string[] {
  const taken = new Set<string>();
  return columns.map(({ name }, at) => {
    const wanted = name === "" ? `column_${at}` : name;
    let unique = wanted;
    for (let count = 1; taken.has(unique.toLowerCase()); count++) unique = `${wanted}_${count}`;
    taken.add(unique.toLowerCase());
    return unique;
  });
}

function outOfMemory(): TableError {
  return new TableError("exhausted", `the statement needs more memory than it may have (${STATEMENT_MEMORY.engine / MIB} MiB)`);
}

/** A message with the line that it is about. */
function placed(statement: string, message: string, at: number | undefined): string {
  if (at === undefined) return message;
  const { line, text } = lineAt(statement, at);
  return `${message} (line ${line}: ${cut(text)})`;
}

/** The engine's message in one paragraph: what, what is close, and where. */
function inOrder(message: string, statement: string): string {
  const [what = "", ...rest] = message.split("\n\n");
  const line = /^LINE (\d+):/m.exec(rest.join("\n"))?.[1];
  const text = what.replaceAll("\n", " ").trim();
  if (line === undefined) return text;
  return `${text} (line ${line}: ${cut(statement.split("\n")[Number(line) - 1] ?? "")})`;
}

function cut(line: string): string {
  const text = line.trim();
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}
