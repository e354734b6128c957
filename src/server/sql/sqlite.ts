/**
 * SQLite databases as sources, read only: files, and such in memory. A statement that finds its
 * rows by unique keys runs at once (about 3 us per key; a worker thread would add 60), every other
 * one in a worker thread, so that a scan of millions of rows does not delay queries. SQLite's query
 * plan decides.
 */

import type { Database, Statement } from "bun:sqlite";
import { statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";
import { SqlError, type SqlResult, type SqlSource } from "./source.ts";
import { bindValue, openReadOnly, quoteSqliteName, readRows, type SqlitePlace, sqliteError, sqlitePlaceholder } from "./sqlite-file.ts";
import { isPointRead } from "./sqlite-plan.ts";
import { SqliteThreads } from "./sqlite-threads.ts";

/** Number of parameters above which a statement is no longer short. */
const MAX_POINT_PARAMETERS = 200;
const MAX_STATEMENTS = 256;
/** Longest wait of a description for another process's lock. */
const LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 10;
/** Interval of checks whether another file has replaced the open one. */
const RELOOK_MS = 1_000;

interface Prepared {
  readonly statement: Statement;
  readonly point: boolean;
}

interface OpenFile {
  readonly db: Database;
  readonly threads: SqliteThreads;
  readonly prepared: Map<string, Prepared>;
  readonly identity: string;
}

/** A SQLite database. Opened on first use; a file is reopened when another one replaces it. */
export class SqliteSource implements SqlSource {
  readonly kind = SourceKind.SQLITE;
  private readonly place: SqlitePlace;
  private file: OpenFile | undefined;
  private lookedAt = 0;
  private closed = false;

  /**
   * @param declared path of the file, relative to `root`, or the bytes of a database in memory
   * @param root the deployment's source folder
   * @throws SqlError when the path is relative and there is no root
   */
  constructor(
    readonly name: string,
    private readonly declared: SqlitePlace,
    root?: string,
  ) {
    if (typeof declared !== "string") this.place = declared;
    else if (root === undefined && !isAbsolute(declared))
      throw new SqlError(`source '${name}': ${declared} is relative, and there is no deployment whose source folder it could start from`);
    else this.place = resolve(root ?? "/", declared);
  }

  quote(identifier: string): string {
    return quoteSqliteName(identifier);
  }

  placeholder(position: number, type?: "float"): string {
    return sqlitePlaceholder(position, type);
  }

  async query(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal): Promise<SqlResult> {
    signal?.throwIfAborted();
    const bound = parameters.map(bindValue);
    const file = this.open();
    try {
      const prepared = this.prepare(file, statement);
      if (prepared.point && bound.length <= MAX_POINT_PARAMETERS) return readRows(prepared.statement, bound);
    } catch (error) {
      if (!isLocked(error)) throw sqliteError(error, statement);
    }
    return file.threads.run(statement, bound, signal);
  }

  async describe(statement: string): Promise<readonly string[]> {
    const deadline = Date.now() + LOCK_WAIT_MS;
    while (true) {
      try {
        return [...this.prepare(this.open(), statement).statement.columnNames];
      } catch (error) {
        if (!isLocked(error) || Date.now() >= deadline) throw sqliteError(error, statement);
        await Bun.sleep(LOCK_POLL_MS);
      }
    }
  }

  async columnTypes(statement: string): Promise<ReadonlyMap<string, ColumnType>> {
    return new Map((await this.describe(statement)).map((name) => [name, "any"]));
  }

  async test(): Promise<void> {
    await this.query("select count(*) from sqlite_schema", []);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.release("stop");
  }

  private open(): OpenFile {
    if (this.closed) throw new SqlError(`source '${this.name}' is closed`);
    const now = Date.now();
    if (this.file && now - this.lookedAt < RELOOK_MS) return this.file;
    this.lookedAt = now;
    const identity = this.identify();
    if (identity === undefined) {
      this.release("finish");
      throw this.missing();
    }
    if (this.file?.identity === identity) return this.file;
    this.release("finish");
    try {
      const db = openReadOnly(this.place, 0);
      this.file = { db, threads: new SqliteThreads(this.place), prepared: new Map(), identity };
      return this.file;
    } catch (error) {
      throw new SqlError(`source '${this.name}': cannot open ${this.declared}: ${sqliteError(error, "").message}`);
    }
  }

  /** The identity of the database; undefined when there is no file at the path. */
  private identify(): string | undefined {
    if (typeof this.place !== "string") return "in memory";
    const found = statSync(this.place, { throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  }

  private missing(): SqlError {
    const where = this.place === this.declared ? "" : `, looked up as ${this.place}`;
    return new SqlError(`source '${this.name}': there is no file ${this.declared}${where}`);
  }

  private prepare(file: OpenFile, text: string): Prepared {
    const known = file.prepared.get(text);
    if (known) return known;
    const statement = file.db.prepare(text);
    const prepared = { statement, point: isPointRead(file.db, text) };
    file.prepared.set(text, prepared);
    if (file.prepared.size > MAX_STATEMENTS) {
      const [oldest, { statement: unused }] = file.prepared.entries().next().value as [string, Prepared];
      file.prepared.delete(oldest);
      unused.finalize();
    }
    return prepared;
  }

  private release(running: "finish" | "stop"): void {
    const { file } = this;
    this.file = undefined;
    if (!file) return;
    for (const { statement } of file.prepared.values()) statement.finalize();
    if (running === "finish") file.threads.retire();
    else file.threads.close();
    file.db.close();
  }
}

function isLocked(error: unknown): boolean {
  const code = (error as { readonly code?: unknown }).code;
  return typeof code === "string" && /^SQLITE_(BUSY|LOCKED)/.test(code);
}
