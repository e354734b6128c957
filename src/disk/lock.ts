/**
 * A lock between processes that ends with its holder, even by `kill -9`: the write lock of an empty
 * SQLite file. Nothing has to be cleaned up and no lock can be stale.
 */

import { Database } from "bun:sqlite";
import { closeSync, constants, openSync } from "node:fs";
import { dirname } from "node:path";
import { DiskError, systemCode, systemWords } from "./disk-error.ts";
import { makePrivateFolder, refuseLink } from "./private-file.ts";

/** Options of waiting for a lock. */
export interface LockOptions {
  /** Longest wait in milliseconds; default 30 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Name of the guarded resource, for the message when the lock is not released. */
  readonly what: string;
}

/**
 * Runs `work` while no other process (and no other call in this one) holds the lock file. Rejects
 * with DiskError when the wait is too long or the file cannot be locked.
 */
export async function withFileLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  makePrivateFolder(dirname(path));
  refuseLink(path);
  createOnce(path);
  const database = await openHeld(path, options);
  try {
    return await work();
  } finally {
    if (database.inTransaction) database.run("ROLLBACK");
    database.close();
  }
}

async function openHeld(path: string, options: LockOptions): Promise<Database> {
  let database: Database | undefined;
  try {
    database = new Database(path, { readwrite: true });
    await acquire(database, options);
    return database;
  } catch (error) {
    database?.close();
    const words = systemWords(error);
    if (words === undefined) throw error;
    throw new DiskError(`cannot lock ${options.what}: ${path}: ${words}`, "lock_failed", { cause: error });
  }
}

/**
 * Creates the file, private, unless it exists. An existing one is not opened, and a new one is
 * closed before anything else can run: closing any descriptor of a file drops every POSIX lock that
 * this process has on it.
 */
function createOnce(path: string): void {
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

async function acquire(database: Database, options: LockOptions): Promise<void> {
  database.run("PRAGMA busy_timeout = 0");
  database.run("PRAGMA journal_mode = memory");
  const deadline = Date.now() + (options.timeoutMs ?? 30_000);
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      database.run("BEGIN IMMEDIATE");
      return;
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (Date.now() > deadline)
        throw new DiskError(`another process has held ${options.what} for too long`, "lock_timeout", {
          hint: "Look for another svc process that hangs, and end it.",
        });
      await Bun.sleep(2 + Math.random() * 18);
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY");
}
