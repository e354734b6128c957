/**
 * Authentication of people: logins of the command line and at an identity provider, one-time
 * entries, and browser sessions.
 */

import type { ClientRecord } from "./identity.ts";

/** A one-time code that logs a browser in as a client. */
export interface EntryRecord {
  /** SHA-256 of the code. */
  readonly codeHash: Uint8Array;
  readonly clientId: string;
  /** Permissions of the session that it creates. */
  readonly permissions: readonly string[];
  /** Path of the page that is opened after the login. */
  readonly path: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** When the session that it creates ends at the latest; undefined = no earlier than others. */
  readonly sessionEndsAt?: number | undefined;
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
  /** The browser's `User-Agent`. */
  readonly userAgent: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly expiresAt: number;
  /** When it ends although it is used; undefined = no earlier than others. */
  readonly endsAt?: number | undefined;
}

/** The state of a login session; `taken` = its credentials were handed out. */
export type LoginSessionState = "pending" | "confirmed" | "denied" | "taken";

/** A login session. */
export interface LoginSessionRecord {
  readonly id: string;
  /** SHA-256 of the session's secret. */
  readonly secretHash: Uint8Array;
  readonly deviceName: string;
  /** Address of the requester. */
  readonly address: string;
  /** Code shown by the command line and on the page, for comparison. */
  readonly userCode: string;
  readonly state: LoginSessionState;
  /** Permissions of its client; empty until it is confirmed. */
  readonly permissions: readonly string[];
  /** Id of the client that limits its client; undefined until it is confirmed, or = none does. */
  readonly parentId?: string | undefined;
  /** When its client ends; undefined until it is confirmed, or = it does not. */
  readonly clientExpiresAt?: number | undefined;
  /** Whom its client acts for; empty = itself, or it is not confirmed yet. */
  readonly personId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** A person's decision about a login session. */
export interface LoginDecision {
  readonly state: "confirmed" | "denied";
  /** Client id of the person. */
  readonly by: string;
  /** Permissions of the new client; empty when denied. */
  readonly permissions: readonly string[];
  /** Whom the new client acts for; empty = itself. */
  readonly personId: string;
  readonly parentId?: string | undefined;
  readonly clientExpiresAt?: number | undefined;
}

/** A browser that was sent to the identity provider and is awaited back. */
export interface ProviderLoginRecord {
  /** SHA-256 of the `state` that the provider sends back. */
  readonly stateHash: Uint8Array;
  /** SHA-256 of the cookie that the browser was given. */
  readonly cookieHash: Uint8Array;
  /** Nonce and PKCE verifier, sealed. */
  readonly sealed: string;
  /** Path of the page that is opened after the login. */
  readonly path: string;
  /** Address that the provider sends the browser back to. */
  readonly redirectUri: string;
  /** Address of the browser. */
  readonly address: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Numbers of logins that wait. */
export interface WaitingLogins {
  readonly ofAddress: number;
  readonly all: number;
}

/** Logins, entries and browser sessions. */
export interface SessionStore {
  /** Adds an entry. Expired entries are removed, and the client's oldest ones beyond `most`. */
  createEntry(entry: EntryRecord, most: number): Promise<void>;
  /**
   * Exchanges an entry for a browser session, once; returns the entry, undefined when there is none
   * or it has expired. The session ends no later than the entry says. Expired sessions are removed,
   * and the client's least recently used ones beyond `most`.
   */
  redeemEntry(
    codeHash: Uint8Array,
    session: Omit<BrowserSessionRecord, "clientId" | "permissions" | "endsAt">,
    most: number,
  ): Promise<EntryRecord | undefined>;
  /** The session of a cookie, including an expired one. */
  browserSession(cookieHash: Uint8Array): Promise<BrowserSessionRecord | undefined>;
  /** Sessions not expired at `now`, of one client or of all; most recently used first. */
  browserSessions(now: number, clientId?: string): Promise<BrowserSessionRecord[]>;
  touchBrowserSession(id: string, times: Pick<BrowserSessionRecord, "lastUsedAt" | "expiresAt">): Promise<void>;
  /** Removes sessions. */
  deleteBrowserSessions(ids: readonly string[]): Promise<void>;

  createLoginSession(session: LoginSessionRecord): Promise<void>;
  loginSession(id: string): Promise<LoginSessionRecord | undefined>;
  /** Numbers of pending sessions not expired at `now`: those of an address, and all. */
  pendingLoginSessions(address: string, now: number): Promise<WaitingLogins>;
  /** Confirms or denies a session; false when it is not pending or has expired. */
  decideLoginSession(id: string, decision: LoginDecision, now: number): Promise<boolean>;
  /**
   * Marks a confirmed session as taken and creates its client, once; false when it is not confirmed
   * or has expired.
   */
  takeLoginSession(id: string, client: ClientRecord, now: number): Promise<boolean>;

  createProviderLogin(login: ProviderLoginRecord): Promise<void>;
  /** Numbers of logins at the provider not expired at `now`: those of an address, and all. */
  waitingProviderLogins(address: string, now: number): Promise<WaitingLogins>;
  /**
   * Removes and returns the login of a state and a cookie, once; undefined when there is none or it
   * has expired.
   */
  takeProviderLogin(stateHash: Uint8Array, cookieHash: Uint8Array, now: number): Promise<ProviderLoginRecord | undefined>;
}
