/**
 * Locks that a server holds while it runs: an exclusive transaction on a separate database. The
 * operating system releases a lock as soon as its holder ends, in whatever way, so that no lock is
 * ever stale.
 */

import { Database } from "bun:sqlite";
import { reasonAt, systemCode } from "../../disk/disk-error.ts";
import { createPrivateFile } from "../../disk/private-file.ts";
import { StartError } from "../failure.ts";

/** A lock that is held. */
export interface ExclusiveLock {
  release(): void;
}

/**
 * Takes the lock of a file, which is created if it is missing; undefined when another server holds
 * it.
 * @param hint the next step for the user when the file cannot be locked
 * @throws StartError "data_unusable" when the file cannot be locked
 */
export function takeExclusiveLock(path: string, hint?: string): ExclusiveLock | undefined {
  let database: Database | undefined;
  try {
    createPrivateFile(path);
    database = new Database(path, { strict: true });
    database.run("pragma busy_timeout = 0");
    database.run("pragma journal_mode = memory");
    database.run("begin exclusive");
  } catch (error) {
    database?.close();
    if (systemCode(error)?.startsWith("SQLITE_BUSY")) return undefined;
    const isDamaged = /^SQLITE_(NOTADB|CORRUPT)/.test(systemCode(error) ?? "");
    throw new StartError(
      "data_unusable",
      `The lock file ${path} cannot be used: ${reasonAt(path, error)}.`,
      isDamaged ? "No server holds it, and nothing is kept in it: delete it and start again." : hint,
    );
  }
  const held = database;
  return {
    release() {
      held.run("rollback");
      held.close();
    },
  };
}
