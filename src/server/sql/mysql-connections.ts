/** Read-only connections to MySQL: each is set up once, then used by one statement at a time. */

import { SQL } from "bun";
import { type DriverRows, runAbortable } from "./server-connection.ts";
import { SqlError } from "./source.ts";

const STATEMENT_TIMEOUT_MS = 60_000;
const UNKNOWN_VARIABLE = 1193;
/** Statements with a unique text after which a connection is closed, and what it keeps with it. */
const MAX_UNIQUE_TEXTS = 64;

interface Connection {
  readonly sql: Bun.ReservedSQL;
  /** The server's id of the connection, for KILL. */
  readonly id: number;
  /** Statements with a unique text that it has run. The driver keeps each of them prepared. */
  uniqueTexts: number;
}

/** A small pool. Statements wait for a free connection in the order of the calls. */
export class MysqlConnections {
  private readonly idle: Connection[] = [];
  private readonly waiting: (() => void)[] = [];
  private lent = 0;
  private closed = false;

  /**
   * @param pool the driver's pool, with room for one connection more than `size`, on which
   * statements are killed
   * @param size most connections
   */
  constructor(
    private readonly pool: SQL,
    private readonly size: number,
  ) {}

  /**
   * Runs a statement. When the signal is aborted, the server is asked to stop it and the promise
   * rejects with the signal's reason.
   * @param isUnique whether the text never comes again
   */
  async run(text: string, parameters: readonly unknown[], signal?: AbortSignal, isUnique = false): Promise<DriverRows> {
    while (this.lent >= this.size) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.lent++;
    let connection: Connection | undefined;
    try {
      if (this.closed) throw new SqlError("the source was closed");
      signal?.throwIfAborted();
      connection = this.idle.pop() ?? (await this.open());
      if (isUnique) connection.uniqueTexts++;
      const rows = await runAbortable(connection.sql.unsafe(text, [...parameters]).values() as SQL.Query<unknown[][]>, signal);
      this.giveBack(connection);
      return rows;
    } catch (error) {
      if (connection && isStatementError(error)) this.giveBack(connection);
      else if (connection) this.abandon(connection, signal);
      throw error;
    } finally {
      this.lent--;
      this.waiting.shift()?.();
    }
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    this.closed = true;
    for (const resume of this.waiting.splice(0)) resume();
    await this.pool.close({ timeout: 0 });
  }

  private async open(): Promise<Connection> {
    const sql = await this.pool.reserve();
    try {
      await sql.unsafe("set session transaction read only");
      await limitTime(sql);
      const [row] = (await sql.unsafe("select connection_id()").values()) as unknown[][];
      return { sql, id: Number(row?.[0]), uniqueTexts: 0 };
    } catch (error) {
      await sql.close().catch(() => {});
      throw error;
    }
  }

  private giveBack(connection: Connection): void {
    if (connection.uniqueTexts < MAX_UNIQUE_TEXTS) this.idle.push(connection);
    else this.abandon(connection, undefined);
  }

  /** Closes a connection that is lost, or busy with a statement whose caller gave up. */
  private abandon(connection: Connection, signal: AbortSignal | undefined): void {
    const close = (): Promise<void> => connection.sql.close({ timeout: 0 }).catch(() => {});
    if (!signal?.aborted || this.closed) void close();
    else this.pool.unsafe(`kill query ${connection.id}`).then(close, close);
  }
}

/** Limits the run time of statements; MariaDB and MySQL name the limit differently. */
async function limitTime(sql: Bun.ReservedSQL): Promise<void> {
  try {
    await sql.unsafe(`set session max_statement_time = ${STATEMENT_TIMEOUT_MS / 1_000}`);
  } catch (error) {
    if (!(error instanceof SQL.MySQLError) || error.errno !== UNKNOWN_VARIABLE) throw error;
    await sql.unsafe(`set session max_execution_time = ${STATEMENT_TIMEOUT_MS}`);
  }
}

function isStatementError(error: unknown): boolean {
  return error instanceof SqlError || (error instanceof SQL.MySQLError && typeof error.errno === "number");
}
