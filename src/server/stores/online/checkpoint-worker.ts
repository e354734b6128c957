/** Worker thread that moves the write-ahead log into the database file, so that its disk flushes never hold up queries. */

import { constants, Database } from "bun:sqlite";

declare const self: Worker;

/** What the store asks: a checkpoint of the file at `path`, or to end. */
export type CheckpointRequest = { readonly path: string } | { readonly close: true };

let db: Database | undefined;

self.onmessage = ({ data }: MessageEvent<CheckpointRequest>): void => {
  if ("close" in data) {
    db?.close();
    process.exit();
    return;
  }
  try {
    if (!db) {
      db = new Database(data.path, { readwrite: true });
      db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
      db.run("pragma busy_timeout = 5000");
      db.run("pragma synchronous = normal");
    }
    db.run("pragma wal_checkpoint(passive)");
    self.postMessage({ failed: false });
  } catch {
    self.postMessage({ failed: true });
  }
};
