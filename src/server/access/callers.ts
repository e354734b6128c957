/**
 * The callers of requests: clients, by a bearer token or a browser session. A token or session is
 * valid only as long as its client exists.
 */

import { whenThere } from "../at-once.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import type { Clients } from "./clients.ts";
import { type Caller, TokenRefused, type Tokens } from "./tokens.ts";

/** The lookup of callers. */
export interface Callers {
  /**
   * The caller of a bearer token, without a promise when token and client are remembered. Throws,
   * or rejects with, TokenRefused.
   */
  ofToken(token: string): Caller | Promise<Caller>;
  /**
   * The caller of a browser session, from both of its halves; undefined when there is no such
   * session.
   */
  ofSession(headers: Headers): Promise<Caller | undefined>;
}

/** Makes the lookup of callers. */
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
