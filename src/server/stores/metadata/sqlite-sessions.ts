import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { bytes, integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type {
  BrowserSessionRecord,
  EntryRecord,
  LoginSessionRecord,
  LoginSessionState,
  ProviderLoginRecord,
  SessionStore,
  WaitingLogins,
} from "./sessions.ts";
import { clientTable } from "./sqlite-identity.ts";

/** A login session's row. */
interface LoginSessionRow extends LoginSessionRecord {
  /** Id of the client that decided about it; empty before. */
  readonly confirmedBy: string;
}

/** Logins, entries and browser sessions of the SQLite driver. */
export function sqliteSessions(db: Database, writer: Writer): SessionStore {
  const clients = clientTable(db);
  const entries = createTable<EntryRecord>(db, "entry", {
    codeHash: bytes,
    clientId: text,
    permissions: json(),
    path: text,
    createdAt: integer,
    expiresAt: integer,
    sessionEndsAt: optional(integer),
  });
  const browserSessions = createTable<BrowserSessionRecord>(db, "browser_session", {
    id: text,
    clientId: text,
    cookieHash: bytes,
    keyHash: bytes,
    permissions: json(),
    userAgent: text,
    createdAt: integer,
    lastUsedAt: integer,
    expiresAt: integer,
    endsAt: optional(integer),
  });
  const loginSessions = createTable<LoginSessionRow>(db, "login_session", {
    id: text,
    secretHash: bytes,
    deviceName: text,
    address: text,
    userCode: text,
    state: oneOf<LoginSessionState>(),
    permissions: json(),
    confirmedBy: text,
    personId: text,
    parentId: optional(text),
    clientExpiresAt: optional(integer),
    createdAt: integer,
    expiresAt: integer,
  });
  const providerLogins = createTable<ProviderLoginRecord>(db, "provider_login", {
    stateHash: bytes,
    cookieHash: bytes,
    sealed: text,
    path: text,
    redirectUri: text,
    address: text,
    createdAt: integer,
    expiresAt: integer,
  });
  /** Counts the rows of a table that wait, of an address and in all. */
  const waiting = (table: "login_session" | "provider_login", which: string, address: string, now: number): WaitingLogins => {
    const counted = db
      .query<WaitingLogins, [string, number]>(
        `select count(*) as "all", count(*) filter (where address = ?) as ofAddress from ${table} where ${which} expires_at > ?`,
      )
      .get(address, now);
    return counted ?? { all: 0, ofAddress: 0 };
  };

  return {
    createEntry: (entry, most) =>
      writer.write(() => {
        db.query("delete from entry where expires_at <= ?").run(entry.createdAt);
        entries.insert(entry);
        db.query(
          `delete from entry where client_id = ?1 and code_hash not in
           (select code_hash from entry where client_id = ?1 order by created_at desc, code_hash = ?2 desc limit ?3)`,
        ).run(entry.clientId, entry.codeHash, most);
      }),

    redeemEntry: (codeHash, session, most) =>
      writer.write(() => {
        const [entry] = entries.remove("where code_hash = ? and expires_at > ?", codeHash, session.createdAt);
        if (!entry) return undefined;
        const { clientId, permissions, sessionEndsAt: endsAt } = entry;
        const expiresAt = Math.min(session.expiresAt, endsAt ?? session.expiresAt);
        db.query("delete from browser_session where expires_at <= ?").run(session.createdAt);
        browserSessions.insert({ ...session, clientId, permissions, expiresAt, ...(endsAt !== undefined && { endsAt }) });
        db.query(
          `delete from browser_session where client_id = ?1 and id not in
           (select id from browser_session where client_id = ?1 order by last_used_at desc, id desc limit ?2)`,
        ).run(clientId, most);
        return entry;
      }),

    async browserSession(cookieHash) {
      return browserSessions.one("where cookie_hash = ?", cookieHash);
    },

    async browserSessions(now, clientId) {
      return browserSessions.all(
        "where expires_at > ?1 and (?2 is null or client_id = ?2) order by last_used_at desc, id desc",
        now,
        clientId ?? null,
      );
    },

    touchBrowserSession: (id, { lastUsedAt, expiresAt }) =>
      writer.write(() => void browserSessions.update({ lastUsedAt, expiresAt }, "where id = $key", { key: id })),

    deleteBrowserSessions: (ids) =>
      writer.write(() => {
        for (const id of ids) db.query("delete from browser_session where id = ?").run(id);
      }),

    createLoginSession: (session) =>
      writer.write(() => {
        loginSessions.insert({ ...session, confirmedBy: "" });
      }),

    async loginSession(id) {
      const { confirmedBy: _, ...session } = loginSessions.one("where id = ?", id) ?? {};
      return "id" in session ? session : undefined;
    },

    async pendingLoginSessions(address, now) {
      return waiting("login_session", "state = 'pending' and", address, now);
    },

    decideLoginSession: (id, { by, ...decided }, now) =>
      writer.write(() => {
        const decision = { ...decided, confirmedBy: by };
        return loginSessions.update(decision, "where id = $key and state = 'pending' and expires_at > $now", { key: id, now }) === 1;
      }),

    takeLoginSession: (id, client, now) =>
      writer.write(() => {
        const where = "where id = $key and state = 'confirmed' and expires_at > $now";
        if (loginSessions.update({ state: "taken" }, where, { key: id, now }) !== 1) return false;
        clients.insert(client);
        return true;
      }),

    createProviderLogin: (login) => writer.write(() => providerLogins.insert(login)),

    async waitingProviderLogins(address, now) {
      return waiting("provider_login", "", address, now);
    },

    takeProviderLogin: (stateHash, cookieHash, now) =>
      writer.write(
        () => providerLogins.remove("where state_hash = ? and cookie_hash = ? and expires_at > ?", stateHash, cookieHash, now)[0],
      ),
  };
}
