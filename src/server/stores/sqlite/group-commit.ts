/**
 * Group commit: concurrent writes share one transaction and so one flush to the disk. Each runs in
 * a savepoint of its own, so that one that throws undoes only itself; a promise resolves after the
 * commit that holds its write.
 */

import type { Database } from "bun:sqlite";

interface PendingWrite {
  readonly run: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** The one writer of a database. */
export interface Writer {
  /**
   * Runs `work` in the next shared transaction; resolves with its result once that is on the disk.
   */
  write<T>(work: () => T): Promise<T>;
  /** Commits pending writes at once. */
  flush(): void;
}

/**
 * Makes the writer of a database. Pending writes are committed at the end of the event loop's
 * current turn.
 */
export function createWriter(db: Database): Writer {
  let pending: PendingWrite[] = [];
  let scheduled = false;

  const flush = (): void => {
    scheduled = false;
    const batch = pending;
    pending = [];
    if (batch.length === 0) return;
    const settle: (() => void)[] = [];
    try {
      db.run("begin immediate");
      for (const { run, resolve, reject } of batch) {
        db.run("savepoint one");
        try {
          const value = run();
          settle.push(() => resolve(value));
        } catch (error) {
          if (!db.inTransaction) throw error;
          db.run("rollback to one");
          settle.push(() => reject(error));
        }
        db.run("release one");
      }
      db.run("commit");
    } catch (error) {
      if (db.inTransaction) db.run("rollback");
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const done of settle) done();
  };

  return {
    write<T>(work: () => T): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        pending.push({ run: work, resolve: resolve as (value: unknown) => void, reject });
        if (scheduled) return;
        scheduled = true;
        setImmediate(flush);
      });
    },
    flush,
  };
}
