/**
 * SQLite files as sources, read only. A statement that finds its rows by unique keys runs at once
 * (about 3 us per key; a worker thread would add 60), every other one in a worker thread, so that a
 * scan of millions of rows does not delay queries. SQLite's query plan decides.
 */

import type { Database, Statement } from "bun:sqlite";
import { statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { ColumnType } from "./condition.ts";
import { SqlError, type SqlResult, type SqlSource } from "./source.ts";
import type { SourceDriver } from "./source-driver.ts";
import { bindValue, openReadOnly, readRows, sqliteError } from "./sqlite-file.ts";
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

/** A SQLite file. Opened on first use; reopened when another file replaces it. */
export class SqliteSource implements SqlSource {
  readonly kind = SourceKind.SQLITE;
  private readonly path: string;
  private file: OpenFile | undefined;
  private lookedAt = 0;
  private closed = false;

  /**
   * @param path as declared; relative to `root`
   * @param root the deployment's source folder
   * @throws SqlError when the path is relative and there is no root
   */
  constructor(
    readonly name: string,
    private readonly declaredPath: string,
    root: string | undefined,
  ) {
    if (root === undefined && !isAbsolute(declaredPath))
      throw new SqlError(
        `source '${name}': ${declaredPath} is relative, and there is no deployment whose source folder it could start from`,
      );
    this.path = resolve(root ?? "/", declaredPath);
  }

  quote(identifier: string): string {
    return `"${identifier.replaceAll('"', '""')}"`;
  }

  placeholder(position: number, type?: "float"): string {
    return type === "float" ? `cast(?${position} as real)` : `?${position}`;
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
      const db = openReadOnly(this.path, 0);
      this.file = { db, threads: new SqliteThreads(this.path), prepared: new Map(), identity };
      return this.file;
    } catch (error) {
      throw new SqlError(`source '${this.name}': cannot open ${this.declaredPath}: ${sqliteError(error, "").message}`);
    }
  }

  /** The identity of the file at the path; undefined when there is none. */
  private identify(): string | undefined {
    const found = statSync(this.path, { throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  }

  private missing(): SqlError {
    const where = isAbsolute(this.declaredPath) ? "" : `, looked up as ${this.path}`;
    return new SqlError(`source '${this.name}': there is no file ${this.declaredPath}${where}`);
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

/** The driver of SQLite files, configured by `<NAME>_SQLITE_PATH`, or `path` in code. */
export const sqliteDriver: SourceDriver = {
  kind: SourceKind.SQLITE,
  names: ["sqlite"],
  variable: "SQLITE_PATH",
  open({ name, prefix, read, sourceRoot }) {
    const path = read("SQLITE_PATH", "path");
    if (!path) throw new SqlError(`source '${name}' has no file: give \`path=\` in code or set ${prefix}_SQLITE_PATH`);
    return new SqliteSource(name, path, sourceRoot);
  },
};

function isLocked(error: unknown): boolean {
  const code = (error as { readonly code?: unknown }).code;
  return typeof code === "string" && /^SQLITE_(BUSY|LOCKED)/.test(code);
}
