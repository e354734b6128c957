import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";

/**
 * Records that expire, with the milliseconds that a row is kept afterwards, so that a late user can
 * be told that it expired.
 */
const EXPIRING = {
  "upload where": 86_400_000,
  "entry where": 0,
  "browser_session where": 0,
  "login_session where": 86_400_000,
  "provider_login where": 0,
  // Service tokens stay, so that they can be given another end.
  "client where token_id is null and": 86_400_000,
} as const;

/** Removal of expired uploads, entries, sessions, logins and their clients. */
export function sqliteExpiry(db: Database, writer: Writer, now: () => number): { purgeExpired(): Promise<number> } {
  return {
    purgeExpired: () =>
      writer.write(() =>
        Object.entries(EXPIRING)
          .map(([rows, keptMs]) => db.query(`delete from ${rows} expires_at < ?`).run(now() - keptMs).changes)
          .reduce((sum, changes) => sum + changes, 0),
      ),
  };
}
