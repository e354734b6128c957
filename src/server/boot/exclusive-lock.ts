/**
 * Locks that a server holds for its life: an exclusive transaction on a database of its own. The
 * system takes a lock back the moment its holder is gone, however it went, so that none is stale.
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
 * Takes the lock of a file, which is made where it is missing; undefined when another server holds
 * it.
 * @param hint the next step for whoever can lock nothing there
 * @throws StartError "data_unusable" when nothing can be locked there
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
