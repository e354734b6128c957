import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";

/**
 * Tables of records that expire, with the milliseconds that a row is kept afterwards, so that a
 * late user can be told that it expired.
 */
const EXPIRING = { upload: 86_400_000, entry: 0, browser_session: 0, login_session: 86_400_000 } as const;

/** Removal of expired uploads, entries, browser sessions and login sessions. */
export function sqliteExpiry(db: Database, writer: Writer, now: () => number): { purgeExpired(): Promise<number> } {
  return {
    purgeExpired: () =>
      writer.write(() =>
        Object.entries(EXPIRING)
          .map(([table, keptMs]) => db.query(`delete from ${table} where expires_at < ?`).run(now() - keptMs).changes)
          .reduce((sum, changes) => sum + changes, 0),
      ),
  };
}
