/**
 * Who sent a request: the client of a bearer token, or of a browser session. Both are callers only
 * as long as the client exists.
 */

import { whenThere } from "../at-once.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import type { Clients } from "./clients.ts";
import { type Caller, TokenRefused, type Tokens } from "./tokens.ts";

/** Finds callers. */
export interface Callers {
  /**
   * The caller of a bearer token; at once when token and client are remembered. Throws, or rejects
   * with, TokenRefused.
   */
  ofToken(token: string): Caller | Promise<Caller>;
  /** The caller of a browser session, from both of its halves; undefined when they are none. */
  ofSession(headers: Headers): Promise<Caller | undefined>;
}

/** Makes what finds the callers of a server. */
export function createCallers(options: {
  readonly tokens: Pick<Tokens, "verify">;
  readonly clients: Clients;
  readonly sessions: Pick<BrowserSessions, "callerOf">;
}): Callers {
  const { tokens, clients, sessions } = options;
  return {
    ofToken: (token) =>
      whenThere(tokens.verify(token), (caller) =>
        whenThere(clients.find(caller.clientId), (client) => {
          if (!client) throw new TokenRefused("The client of the access token was deleted.");
          clients.used(caller.clientId);
          return caller;
        }),
      ),
    ofSession: (headers) => sessions.callerOf(headers),
  };
}
