/**
 * Worker thread that checkpoints the write-ahead log into the database file, so that its disk
 * flushes never delay queries.
 */

import { constants, Database } from "bun:sqlite";
import { serve } from "../../thread/rpc.ts";

/** The connection that checkpoints one file. */
export class CheckpointConnection {
  readonly #db: Database;

  /** @param path of the database file */
  constructor(path: string) {
    this.#db = new Database(path, { readwrite: true });
    this.#db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
    this.#db.run("pragma busy_timeout = 5000");
    this.#db.run("pragma synchronous = normal");
  }

  /** Checkpoints without waiting for readers or the writer. Throws SQLite's errors. */
  checkpoint(): void {
    this.#db.run("pragma wal_checkpoint(passive)");
  }

  close(): void {
    this.#db.close();
  }
}

serve<CheckpointConnection, string>({ make: (path) => new CheckpointConnection(path), close: (connection) => connection.close() });
