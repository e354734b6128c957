/**
 * Browser sessions: a client makes an entry, which is a one-time code, and the browser that redeems
 * it is logged in as the client. A session has two halves, and requests need both. The cookie is
 * sent to every port of the host, so other programs there may see it; the page key is kept in the
 * storage of this origin, and scripts that read it cannot read the cookie.
 */

import type { Clock } from "../../context/clock.ts";
import { ownPath } from "../../domain/addresses.ts";
import { onlyReading } from "../../domain/permissions.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import type { Log } from "../log.ts";
import type { BrowserSessionRecord, SessionStore } from "../stores/metadata/sessions.ts";
import { type Clients, callerOf, isOver } from "./clients.ts";
import { hashSecret, newCode, newSecret, secretMatches } from "./secrets.ts";
import type { Caller } from "./tokens.ts";

/** Milliseconds that an entry may wait for its browser. */
const ENTRY_LIFETIME_MS = 120_000;
/** Milliseconds without use after which a session ends. */
const SESSION_IDLE_MS = 12 * 3_600_000;
/** Milliseconds after which a session ends even when it is used. */
const SESSION_LIFETIME_MS = 30 * 86_400_000;
/** Header of the page key. */
export const PAGE_KEY_HEADER = "svc-page-key";

const MOST_ENTRIES = 10;
const MOST_SESSIONS = 50;
const MOST_PATH_CHARACTERS = 2048;
const USE_NOTED_EVERY_MS = 60_000;

/** A new session with both halves, which are returned this once only. */
export interface OpenedSession {
  readonly id: string;
  readonly clientId: string;
  readonly cookie: string;
  readonly pageKey: string;
  readonly path: string;
  readonly expiresAt: number;
}

/** The browser sessions of a server. */
export interface BrowserSessions {
  /**
   * Makes an entry for a page of this server, whose session ends when the caller's credentials do.
   * Throws Failure: invalid_argument for a path that leads elsewhere, permission_denied for a
   * caller that is a session.
   */
  enter(
    caller: Caller,
    path: string,
    readOnly: boolean,
  ): Promise<{ readonly code: string; readonly path: string; readonly expiresAt: number }>;
  /**
   * Opens the session of an entry, once; a session that the request already has ends. Undefined
   * when there is no entry with the code.
   */
  redeem(code: string, headers: Headers): Promise<OpenedSession | undefined>;
  /**
   * The caller of a request with both halves of a session; undefined when there is no such session
   * or its client is gone.
   */
  callerOf(headers: Headers): Promise<Caller | undefined>;
  /**
   * Sessions of a client, or of all clients of the team when `clientId` is undefined; last used
   * first.
   */
  list(teamId: string, clientId: string | undefined): Promise<(BrowserSessionRecord & { readonly clientName: string })[]>;
  end(ids: readonly string[]): Promise<void>;
  /** `Set-Cookie` of a session's cookie, or of its removal. */
  setCookie(value: string | undefined, secure: boolean): string;
}

/** Makes the browser sessions of a server that listens at `port`. */
export function createBrowserSessions(options: {
  readonly metadata: SessionStore;
  readonly clients: Clients;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly port: number;
}): BrowserSessions {
  const { metadata, clients, bus, clock, log } = options;
  const cookieName = `svc_session_${options.port}`;

  const find = async (headers: Headers): Promise<BrowserSessionRecord | undefined> => {
    const cookie = cookieOf(headers, cookieName);
    const session = cookie === undefined ? undefined : await metadata.browserSession(hashSecret(cookie));
    return session && session.expiresAt > clock.now() ? session : undefined;
  };
  const use = (session: BrowserSessionRecord): void => {
    const now = clock.now();
    clients.used(session.clientId);
    if (now - session.lastUsedAt < USE_NOTED_EVERY_MS) return;
    const expiresAt = Math.min(now + SESSION_IDLE_MS, endOf(session));
    metadata
      .touchBrowserSession(session.id, { lastUsedAt: now, expiresAt })
      .catch((error: unknown) => log.warning("a session's last use was not noted", { error: String(error) }));
  };

  const end = async (ids: readonly string[]): Promise<void> => {
    await metadata.deleteBrowserSessions(ids);
    for (const id of ids) bus.publish("sessions", id);
  };

  return {
    async enter(caller, given, readOnly) {
      if (caller.sessionId !== undefined)
        throw new Failure("permission_denied", "A browser session cannot log in further browsers.", { hint: "Run `svc dashboard`." });
      const path = pagePath(given);
      if (path === undefined)
        throw new Failure(
          "invalid_argument",
          `The path must lead to a page of this server and have at most ${MOST_PATH_CHARACTERS} characters.`,
        );
      const now = clock.now();
      const code = newCode();
      const expiresAt = now + ENTRY_LIFETIME_MS;
      const permissions = readOnly ? onlyReading(caller.permissions) : caller.permissions;
      const entry = {
        codeHash: hashSecret(code),
        clientId: caller.clientId,
        permissions,
        path,
        createdAt: now,
        expiresAt,
        sessionEndsAt: caller.expiresAt,
      };
      await metadata.createEntry(entry, MOST_ENTRIES);
      return { code, path, expiresAt };
    },

    async redeem(code, headers) {
      const now = clock.now();
      const before = await find(headers);
      const [cookie, pageKey] = [newSecret("svcb"), newSecret("svcb")];
      const session = {
        id: newId("ses", now),
        cookieHash: hashSecret(cookie),
        keyHash: hashSecret(pageKey),
        userAgent: (headers.get("user-agent") ?? "").slice(0, 300),
        createdAt: now,
        lastUsedAt: now,
        expiresAt: now + SESSION_IDLE_MS,
      };
      const entry = await metadata.redeemEntry(hashSecret(code), session, MOST_SESSIONS);
      if (!entry) return undefined;
      const gone = [...(before ? [before.id] : []), ...((await clients.find(entry.clientId)) ? [] : [session.id])];
      if (gone.length > 0) await end(gone);
      log.info("browser session", { session: session.id, client: entry.clientId, opened: !gone.includes(session.id) });
      if (gone.includes(session.id)) return undefined;
      const expiresAt = endOf({ createdAt: now, endsAt: entry.sessionEndsAt });
      return { id: session.id, clientId: entry.clientId, cookie, pageKey, path: entry.path, expiresAt };
    },

    async callerOf(headers) {
      const session = await find(headers);
      if (!secretMatches(headers.get(PAGE_KEY_HEADER) ?? "", session?.keyHash) || !session) return undefined;
      const client = await clients.find(session.clientId);
      if (!client || isOver(client, clock.now())) return undefined;
      use(session);
      const expiresAt = session.endsAt ?? client.expiresAt;
      return { ...callerOf(client, session.permissions), expiresAt, sessionId: session.id };
    },

    async list(teamId, clientId) {
      const sessions = await metadata.browserSessions(clock.now(), clientId);
      const named = await Promise.all(sessions.map(async (session) => ({ session, client: await clients.find(session.clientId) })));
      return named.flatMap(({ session, client }) => (client?.teamId === teamId ? [{ ...session, clientName: client.name }] : []));
    },

    end,

    setCookie(value, secure) {
      const life = value === undefined ? 0 : SESSION_LIFETIME_MS / 1000;
      return `${cookieName}=${value ?? ""}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${life}${secure ? "; Secure" : ""}`;
    },
  };
}

/** When a session ends although it is used. */
function endOf({ createdAt, endsAt }: Pick<BrowserSessionRecord, "createdAt" | "endsAt">): number {
  return Math.min(createdAt + SESSION_LIFETIME_MS, endsAt ?? Number.POSITIVE_INFINITY);
}

/**
 * A page's path as a browser is sent there, `/` when it is empty; undefined when it leads to
 * another host or is too long.
 */
export function pagePath(given: string): string | undefined {
  return given.length > MOST_PATH_CHARACTERS ? undefined : ownPath(given || "/");
}

/** The value of a cookie that a request carries. */
export function cookieOf(headers: Headers, wanted: string): string | undefined {
  for (const cookie of (headers.get("cookie") ?? "").split(";")) {
    const [name, value] = cookie.trim().split("=", 2);
    if (name === wanted && value) return value;
  }
  return undefined;
}
