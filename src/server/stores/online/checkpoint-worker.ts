/**
 * Worker thread that moves the write-ahead log into the database file, so that its disk flushes
 * never hold up queries.
 */

import { constants, Database } from "bun:sqlite";
import { serve } from "../../thread/rpc.ts";

/** Moves the log of one file. */
export class LogMover {
  readonly #db: Database;

  /** @param path of the database file */
  constructor(path: string) {
    this.#db = new Database(path, { readwrite: true });
    this.#db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
    this.#db.run("pragma busy_timeout = 5000");
    this.#db.run("pragma synchronous = normal");
  }

  /** Moves what no reader needs any more. Throws what SQLite does. */
  checkpoint(): void {
    this.#db.run("pragma wal_checkpoint(passive)");
  }

  close(): void {
    this.#db.close();
  }
}

serve<LogMover, string>({ make: (path) => new LogMover(path), close: (mover) => mover.close() });
