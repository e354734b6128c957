/**
 * The callers of requests: clients, by a bearer token or a browser session. A token or session is
 * valid only as long as its client is, and allows no more than the client does.
 */

import type { Clock } from "../../context/clock.ts";
import { whenThere } from "../at-once.ts";
import type { ClientRecord } from "../stores/metadata/identity.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import { type Clients, callerOf, isOver, whyOver } from "./clients.ts";
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
  /**
   * A caller of before as it is now, also when its token has expired since; undefined when its
   * session has ended, or its client.
   */
  still(caller: Caller, headers: Headers): Promise<Caller | undefined>;
}

/** Makes the lookup of callers. */
export function createCallers(options: {
  readonly tokens: Pick<Tokens, "verify">;
  readonly clients: Clients;
  readonly sessions: Pick<BrowserSessions, "callerOf">;
  readonly clock: Clock;
}): Callers {
  const { tokens, clients, sessions, clock } = options;
  /** What a token was found to allow, until its client changes. */
  const allowed = new WeakMap<Caller, { readonly client: ClientRecord; readonly caller: Caller }>();

  return {
    ofToken: (token) =>
      whenThere(tokens.verify(token), (stated) =>
        whenThere(clients.find(stated.clientId), (client) => {
          if (!client) throw new TokenRefused("The client of the access token was deleted.");
          if (isOver(client, clock.now())) throw new TokenRefused(whyOver(client));
          clients.used(client.id);
          const known = allowed.get(stated);
          if (known?.client === client) return known.caller;
          const caller = { ...callerOf(client, stated.permissions), teamId: stated.teamId };
          allowed.set(stated, { client, caller });
          return caller;
        }),
      ),
    ofSession: (headers) => sessions.callerOf(headers),
    async still(caller, headers) {
      if (caller.sessionId !== undefined) return sessions.callerOf(headers);
      const client = await clients.find(caller.clientId);
      return client && !isOver(client, clock.now()) ? callerOf(client, caller.permissions) : undefined;
    },
  };
}
