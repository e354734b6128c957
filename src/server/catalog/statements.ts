/**
 * Statements of people over an environment's tables: what a statement names is written to files,
 * and these alone are given to the engine.
 */

import { createReadStream } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import type { DatasetFileRecord } from "../stores/metadata/datasets.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import { type NamedTable, type TableColumn, type TableEngine, TableError, type TableFormat, type TableSource } from "../tables/engine.ts";
import { type DatasetTable, type EnvironmentTable, environmentTables, tableNamed } from "./environment-tables.ts";
import { writeHistory } from "./history-table.ts";

/** Limits of statements. */
export const STATEMENT_LIMITS = {
  rows: 10_000_000,
  defaultRows: 10_000,
  timeoutMs: 600_000,
  defaultTimeoutMs: 60_000,
  /** Bytes of an answer's file. */
  bytes: 1024 ** 3,
  /** Tables that a statement may name. */
  tables: 50,
  /** Rows of each history, and bytes of all datasets, that are made for a statement. */
  historyRows: 20_000_000,
  datasetBytes: 4 * 1024 ** 3,
  /** Statements that are answered at once, and that wait. */
  atOnce: 2,
  waiting: 16,
} as const;

/** Bytes of a piece of an answer. */
const PIECE_BYTES = 256 * 1024;
const NAME_HINT = "`svc catalog schemas --show-tables` shows the tables.";

/** A statement to be answered. */
export interface StatementOrder {
  readonly environmentId: string;
  readonly statement: string;
  readonly format: TableFormat;
  /** Most rows; 0 = the default. */
  readonly limit: number;
  /** Milliseconds; 0 = the default. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The answer to a statement, whose pieces are read once. */
export interface StatementAnswer {
  readonly columns: readonly TableColumn[];
  readonly rows: number;
  readonly truncated: boolean;
  readonly bytes: number;
  /** Rows that were made for it. */
  readonly rowsRead: number;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** The capability. */
export interface Statements {
  /** The tables of an environment. */
  tables(environmentId: string): Promise<readonly EnvironmentTable[]>;
  /**
   * Answers a statement with a file, which is gone when `use` is done. Rejects with Failure
   * invalid_argument, resource_exhausted, unavailable, and the signal's reason.
   */
  run<T>(order: StatementOrder, use: (answer: StatementAnswer) => Promise<T>): Promise<T>;
}

/** What statements are answered with. */
export interface StatementParts {
  readonly metadata: Pick<MetadataStore, "datasets" | "knownFeatures">;
  readonly offline: () => Promise<OfflineStore>;
  readonly tables: () => Promise<TableEngine>;
  /** Copies a dataset's file into a local one. */
  readonly fetch: (file: DatasetFileRecord, path: string) => Promise<void>;
  /** Folder for temporary files; what is in it is removed. */
  readonly folder: string;
}

/** Makes the capability. */
export function createStatements(parts: StatementParts): Statements {
  const { metadata, folder } = parts;
  const room = createRoom();
  const emptied = rm(folder, { recursive: true, force: true });

  const answer = async <T>(order: StatementOrder, work: string, use: (answer: StatementAnswer) => Promise<T>): Promise<T> => {
    const { environmentId, statement, format, limit, timeoutMs } = order;
    const allowed = timeoutMs || STATEMENT_LIMITS.defaultTimeoutMs;
    const timeout = AbortSignal.timeout(allowed);
    const signal = AbortSignal.any([order.signal, timeout]);
    const engine = await parts.tables();
    let rowsRead = 0;
    const sources = async (named: readonly NamedTable[]): Promise<TableSource[]> => {
      const all = await environmentTables(metadata, environmentId);
      const made = new Map<EnvironmentTable, Omit<TableSource, "name">>();
      const found: TableSource[] = [];
      let bytes = 0;
      for (const { name, line } of named) {
        const table = tableNamed(all, name, line);
        let source = made.get(table);
        if (!source) {
          if (made.size >= STATEMENT_LIMITS.tables)
            throw new Failure("invalid_argument", `A statement can name ${STATEMENT_LIMITS.tables} tables at most.`);
          const { rows, ...written } = await write(table, join(work, String(made.size)), STATEMENT_LIMITS.datasetBytes - bytes, signal);
          rowsRead += rows;
          bytes += written.bytes;
          source = written;
          made.set(table, source);
        }
        found.push({ ...source, name });
      }
      return found;
    };
    try {
      const target = join(work, "answer.parquet");
      const limits = { rows: limit || STATEMENT_LIMITS.defaultRows, bytes: STATEMENT_LIMITS.bytes, timeoutMs: allowed };
      const selected = await engine.select(statement, sources, target, { limits, signal });
      const file = format === "parquet" ? target : join(work, `answer.${format}`);
      if (format !== "parquet") await engine.convert([target], file, format);
      order.signal.throwIfAborted();
      const { columns, rows, truncated } = selected;
      const { size: bytes } = await stat(file);
      const pieces = createReadStream(file, { highWaterMark: PIECE_BYTES }) as AsyncIterable<Uint8Array>;
      return await use({ columns, rows, truncated, bytes, rowsRead, pieces });
    } catch (error) {
      order.signal.throwIfAborted();
      if (timeout.aborted && error === timeout.reason)
        throw new Failure("resource_exhausted", `The statement took longer than ${allowed / 1000} s, and was stopped.`, {
          hint: "Ask for less, or give it more time: --timeout takes up to 10m.",
        });
      throw explained(error);
    }
  };

  const write = async (
    table: EnvironmentTable,
    target: string,
    mostBytes: number,
    signal: AbortSignal,
  ): Promise<Omit<TableSource, "name"> & { readonly rows: number; readonly bytes: number }> => {
    if (table.kind === "datasets") return fetchDataset(table, target, mostBytes, signal);
    const path = `${target}.parquet`;
    const [store, engine] = [await parts.offline(), await parts.tables()];
    const { rows, columns } = await writeHistory({ store, engine }, table, path, { mostRows: STATEMENT_LIMITS.historyRows, signal });
    return { paths: [path], columns, rows, bytes: 0 };
  };

  const fetchDataset = async (table: DatasetTable, target: string, mostBytes: number, signal: AbortSignal) => {
    const said = table.name[2];
    const revision = await metadata.datasets.latest(table.datasetId);
    if (!revision || revision.columns.length === 0)
      throw new Failure("invalid_argument", `The newest revision of the dataset '${said}' is no table, and statements read tables alone.`, {
        hint: NAME_HINT,
      });
    const files = (await metadata.datasets.files(revision.id)).filter(({ kind }) => kind === "output");
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    if (bytes > mostBytes)
      throw new Failure(
        "resource_exhausted",
        `The dataset '${said}' has ${Math.ceil(bytes / 1024 ** 2)} MiB, which is too much for a statement.`,
        {
          hint: "`svc dataset download` brings its files to this machine.",
        },
      );
    const paths: string[] = [];
    for (const file of files) {
      signal.throwIfAborted();
      const path = `${target}-${paths.length}.parquet`;
      await parts.fetch(file, path);
      paths.push(path);
    }
    const engine = await parts.tables();
    const described = paths[0] === undefined ? undefined : await engine.describe(paths[0]);
    return { paths, columns: described?.columns ?? [], rows: revision.rows, bytes };
  };

  return {
    tables: (environmentId) => environmentTables(metadata, environmentId),

    async run(order, use) {
      if (order.limit > STATEMENT_LIMITS.rows || order.limit < 0)
        throw new Failure("invalid_argument", `The limit is at most ${STATEMENT_LIMITS.rows} rows, not ${order.limit}.`);
      if (order.timeoutMs > STATEMENT_LIMITS.timeoutMs || order.timeoutMs < 0)
        throw new Failure("invalid_argument", `A statement may take ${STATEMENT_LIMITS.timeoutMs / 1000} s at most.`);
      return room(order.signal, async () => {
        await emptied;
        const work = join(folder, crypto.randomUUID());
        await mkdir(work, { recursive: true, mode: 0o700 });
        try {
          return await answer(order, work, use);
        } finally {
          await rm(work, { recursive: true, force: true });
        }
      });
    },
  };
}

/** What a caller is told when the engine could not answer. */
function explained(error: unknown): unknown {
  if (!(error instanceof TableError)) return error;
  const message = `${error.message[0]?.toUpperCase() ?? ""}${error.message.slice(1)}`.replace(/(?<![.!?])$/, ".");
  if (error.code === "unavailable") return new Failure("unavailable", message);
  if (error.code === "refused") return new Failure("invalid_argument", message);
  return error.code === "exhausted" ? new Failure("resource_exhausted", message) : error;
}

/** Lets some work run at once; some waits, and more is refused. */
function createRoom(): <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (signal, work) => {
    if (running >= STATEMENT_LIMITS.atOnce) {
      if (waiting.length >= STATEMENT_LIMITS.waiting)
        throw new Failure("resource_exhausted", "Too many statements wait for an answer.", {
          hint: "Try again when some of them are answered.",
        });
      const turn = Promise.withResolvers<void>();
      const leave = (): void => {
        const at = waiting.indexOf(turn.resolve);
        if (at < 0) return;
        waiting.splice(at, 1);
        turn.reject(signal.reason);
      };
      waiting.push(turn.resolve);
      signal.addEventListener("abort", leave, { once: true });
      await turn.promise.finally(() => signal.removeEventListener("abort", leave));
    } else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
