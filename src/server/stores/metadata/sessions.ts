/** Ways to become somebody: logins of the command line, one-time entries, and browser sessions. */

import type { ClientRecord } from "./identity.ts";

/** A one-time code that logs a browser in as a client. */
export interface EntryRecord {
  /** SHA-256 of the code. */
  readonly codeHash: Uint8Array;
  readonly clientId: string;
  /** What the session will be allowed. */
  readonly permissions: readonly string[];
  /** Page to go to. */
  readonly path: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** A browser that is logged in as a client. */
export interface BrowserSessionRecord {
  readonly id: string;
  readonly clientId: string;
  /** SHA-256 of the cookie. */
  readonly cookieHash: Uint8Array;
  /** SHA-256 of the page key. */
  readonly keyHash: Uint8Array;
  readonly permissions: readonly string[];
  /** As the browser named itself. */
  readonly userAgent: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly expiresAt: number;
}

/** Where a login session stands; `taken` = its credentials were given out. */
export type LoginSessionState = "pending" | "confirmed" | "denied" | "taken";

/** A login session. */
export interface LoginSessionRecord {
  readonly id: string;
  /** SHA-256 of the session's secret. */
  readonly secretHash: Uint8Array;
  readonly deviceName: string;
  /** Address that asked for it. */
  readonly address: string;
  /** Shown by the command line and on the page. */
  readonly userCode: string;
  readonly state: LoginSessionState;
  /** What its client will be allowed; empty until it is confirmed. */
  readonly permissions: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** What a person decided about a login session. */
export interface LoginDecision {
  readonly state: "confirmed" | "denied";
  /** Client of the person. */
  readonly by: string;
  /** What the new client is allowed; empty when denied. */
  readonly permissions: readonly string[];
}

/** Logins, entries and browser sessions. */
export interface SessionStore {
  /** Adds an entry. Those that ended are removed, and of the client's the oldest beyond `most`. */
  createEntry(entry: EntryRecord, most: number): Promise<void>;
  /**
   * Removes an entry and creates the session that it stands for, once; gives the entry. Sessions
   * that ended are removed, and of the client's the longest unused beyond `most`. Undefined when
   * there is no such entry or it ended.
   */
  redeemEntry(
    codeHash: Uint8Array,
    session: Omit<BrowserSessionRecord, "clientId" | "permissions">,
    most: number,
  ): Promise<EntryRecord | undefined>;
  /** The session of a cookie, also one that ended. */
  browserSession(cookieHash: Uint8Array): Promise<BrowserSessionRecord | undefined>;
  /** Sessions that have not ended at `now`, of one client or of all; last used first. */
  browserSessions(now: number, clientId?: string): Promise<BrowserSessionRecord[]>;
  touchBrowserSession(id: string, times: Pick<BrowserSessionRecord, "lastUsedAt" | "expiresAt">): Promise<void>;
  /** Removes sessions. */
  deleteBrowserSessions(ids: readonly string[]): Promise<void>;

  createLoginSession(session: LoginSessionRecord): Promise<void>;
  loginSession(id: string): Promise<LoginSessionRecord | undefined>;
  /** How many sessions wait for their person at `now`: of an address, and of all. */
  pendingLoginSessions(address: string, now: number): Promise<{ readonly ofAddress: number; readonly all: number }>;
  /** Confirms or denies a session that is pending and has not expired; false when it is neither. */
  decideLoginSession(id: string, decision: LoginDecision, now: number): Promise<boolean>;
  /**
   * Marks a confirmed session as taken and creates its client, once; false when it is not confirmed
   * or has expired.
   */
  takeLoginSession(id: string, client: ClientRecord, now: number): Promise<boolean>;
}
