import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import type { BrowserSessionRecord, EntryRecord, MetadataStore } from "./store.ts";

interface EntryRow {
  code_hash: Uint8Array;
  client_id: string;
  permissions: string;
  path: string;
  created_at: number;
  expires_at: number;
}

interface SessionRow {
  id: string;
  client_id: string;
  cookie_hash: Uint8Array;
  key_hash: Uint8Array;
  permissions: string;
  user_agent: string;
  created_at: number;
  last_used_at: number;
  expires_at: number;
}

type BrowserSessionMethods =
  | "createEntry"
  | "redeemEntry"
  | "browserSession"
  | "browserSessions"
  | "touchBrowserSession"
  | "deleteBrowserSessions";

/** Entries and browser sessions of the SQLite backend. */
export function browserSessionQueries(db: Database, writer: Writer): Pick<MetadataStore, BrowserSessionMethods> {
  return {
    createEntry: (entry, most) =>
      writer.write(() => {
        db.query("delete from entry where expires_at <= ?").run(entry.createdAt);
        db.query("insert into entry (code_hash, client_id, permissions, path, created_at, expires_at) values (?, ?, ?, ?, ?, ?)").run(
          entry.codeHash,
          entry.clientId,
          JSON.stringify(entry.permissions),
          entry.path,
          entry.createdAt,
          entry.expiresAt,
        );
        db.query(
          `delete from entry where client_id = ?1 and code_hash not in
           (select code_hash from entry where client_id = ?1 order by created_at desc, code_hash = ?2 desc limit ?3)`,
        ).run(entry.clientId, entry.codeHash, most);
      }),

    redeemEntry: (codeHash, session, most) =>
      writer.write(() => {
        const row = db
          .query<EntryRow, [Uint8Array, number]>("delete from entry where code_hash = ? and expires_at > ? returning *")
          .get(codeHash, session.createdAt);
        if (!row) return undefined;
        db.query("delete from browser_session where expires_at <= ?").run(session.createdAt);
        db.query(
          `insert into browser_session (id, client_id, cookie_hash, key_hash, permissions, user_agent, created_at, last_used_at, expires_at)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ).run(
          session.id,
          row.client_id,
          session.cookieHash,
          session.keyHash,
          row.permissions,
          session.userAgent,
          session.createdAt,
          session.lastUsedAt,
          session.expiresAt,
        );
        db.query(
          `delete from browser_session where client_id = ?1 and id not in
           (select id from browser_session where client_id = ?1 order by last_used_at desc, id desc limit ?2)`,
        ).run(row.client_id, most);
        return entryRecord(row);
      }),

    async browserSession(cookieHash) {
      const row = db.query<SessionRow, [Uint8Array]>("select * from browser_session where cookie_hash = ?").get(cookieHash);
      return row ? sessionRecord(row) : undefined;
    },

    async browserSessions(now, clientId) {
      const rows = db
        .query<SessionRow, [number, string | null]>(
          "select * from browser_session where expires_at > ?1 and (?2 is null or client_id = ?2) order by last_used_at desc, id desc",
        )
        .all(now, clientId ?? null);
      return rows.map(sessionRecord);
    },

    touchBrowserSession: (id, { lastUsedAt, expiresAt }) =>
      writer.write(() => {
        db.query("update browser_session set last_used_at = ?, expires_at = ? where id = ?").run(lastUsedAt, expiresAt, id);
      }),

    deleteBrowserSessions: (ids) =>
      writer.write(() => {
        for (const id of ids) db.query("delete from browser_session where id = ?").run(id);
      }),
  };
}

function entryRecord(row: EntryRow): EntryRecord {
  return {
    codeHash: row.code_hash,
    clientId: row.client_id,
    permissions: JSON.parse(row.permissions) as string[],
    path: row.path,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

function sessionRecord(row: SessionRow): BrowserSessionRecord {
  return {
    id: row.id,
    clientId: row.client_id,
    cookieHash: row.cookie_hash,
    keyHash: row.key_hash,
    permissions: JSON.parse(row.permissions) as string[],
    userAgent: row.user_agent,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}
