/**
 * SQLite databases in memory, which a script of the project fills: one in each process of the
 * server, made when it is first read and never changed after that.
 */

import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { SqlScanner } from "../../domain/sql/tokenize.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { Thread } from "../thread/rpc.ts";
import type { ColumnType } from "./condition.ts";
import { SqlError, type SqlResult, type SqlSource } from "./source.ts";
import { SqliteSource } from "./sqlite.ts";
import { quoteSqliteName, sqlitePlaceholder } from "./sqlite-file.ts";
import type { ScriptRunner } from "./sqlite-script-worker.ts";

/** Longest run of a script. */
const MAX_SCRIPT_MS = 30_000;

/** What a statement of a script begins with: what fills a database, and reaches nothing else. */
const FILLING = new Set(["create", "insert", "replace", "update", "delete", "drop", "alter", "with", "begin", "commit", "end", "pragma"]);
/** What is created. */
const CREATED = new Set(["table", "index", "unique", "view"]);

/** A database that a script fills. */
export class SqliteMemorySource implements SqlSource {
  readonly kind = SourceKind.SQLITE;
  #filled: Promise<SqliteSource> | undefined;
  #isClosed = false;

  /** @param script statements that fill an empty database */
  constructor(
    readonly name: string,
    private readonly script: string,
  ) {}

  quote(identifier: string): string {
    return quoteSqliteName(identifier);
  }

  placeholder(position: number, type?: "float"): string {
    return sqlitePlaceholder(position, type);
  }

  async query(statement: string, parameters: readonly FeatureValue[], signal?: AbortSignal): Promise<SqlResult> {
    return (await this.#source()).query(statement, parameters, signal);
  }

  async describe(statement: string): Promise<readonly string[]> {
    return (await this.#source()).describe(statement);
  }

  async columnTypes(statement: string): Promise<ReadonlyMap<string, ColumnType>> {
    return (await this.#source()).columnTypes(statement);
  }

  async test(): Promise<void> {
    await (await this.#source()).test();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const source = await this.#filled?.catch(() => undefined);
    await source?.close();
  }

  #source(): Promise<SqliteSource> {
    if (this.#isClosed) return Promise.reject(new SqlError(`source '${this.name}' is closed`));
    this.#filled ??= this.#fill();
    return this.#filled;
  }

  async #fill(): Promise<SqliteSource> {
    const problem = scriptProblem(this.script);
    if (problem !== undefined) throw new SqlError(`source '${this.name}': ${problem}`);
    const thread = new Thread<ScriptRunner, string>({
      entry: "sql/sqlite-script-worker.ts",
      settings: this.script,
      revive: ({ message }) => new SqlError(`source '${this.name}': the script fails: ${message}`),
      ended: (reason) => new SqlError(`source '${this.name}': the script fails: ${reason}`),
    });
    const late = setTimeout(() => void thread.terminate(), MAX_SCRIPT_MS);
    try {
      return new SqliteSource(this.name, await thread.call("fill", []));
    } finally {
      clearTimeout(late);
      void thread.close().catch(() => undefined);
    }
  }
}

/** What a script may not do, in words; undefined = it only fills the database. */
export function scriptProblem(script: string): string | undefined {
  const scanner = new SqlScanner(script, "sqlite");
  let words: string[] = [];
  while (scanner.nextSignificant()) {
    const text = script.slice(scanner.start, scanner.end).toLowerCase();
    if (text === "load_extension") return "the script calls load_extension, which a source may not";
    if (text === ";") words = [];
    else if (words.length < 2) {
      words.push(text);
      const [first = "", second] = words;
      if (!FILLING.has(first)) return refusal(first);
      if (second === undefined) continue;
      if (first === "create" && !CREATED.has(second)) return refusal(`create ${second}`);
      if (first === "pragma" && second !== "foreign_keys") return refusal(`pragma ${second}`);
    }
  }
  return undefined;
}

function refusal(words: string): string {
  return `the script has a statement that begins with '${words}': write 'create table', 'create index', 'create view', 'insert', 'update' or 'delete'`;
}
