import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";

/**
 * Tables of what ends by itself, with the time that a row is kept after its end: somebody may still
 * ask why it is gone.
 */
const ENDING = { upload: 86_400_000, entry: 0, browser_session: 0, login_session: 86_400_000 } as const;

/**
 * Removes what ended: uploads that were announced, entries, browser sessions and login sessions.
 * Gives the number of rows.
 */
export function sqliteExpiry(db: Database, writer: Writer, now: () => number): { purgeExpired(): Promise<number> } {
  return {
    purgeExpired: () =>
      writer.write(() =>
        Object.entries(ENDING)
          .map(([table, keptMs]) => db.query(`delete from ${table} where expires_at < ?`).run(now() - keptMs).changes)
          .reduce((sum, changes) => sum + changes, 0),
      ),
  };
}
