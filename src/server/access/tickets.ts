/**
 * Tickets: signed texts that open something once, for one client, within a minute. So whatever was
 * refused was refused in words before a connection is made.
 */

import type { Clock } from "../../context/clock.ts";
import { Failure } from "../failure.ts";
import { isSignedBy, type KeyRing, signWith } from "./keys.ts";
import type { Caller } from "./tokens.ts";

/** What every ticket says. */
export interface TicketContent {
  readonly id: string;
  readonly clientId: string;
  readonly environmentId: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** The tickets for one kind of thing. */
export interface Tickets<C extends TicketContent> {
  /** The text of a ticket. */
  sign(content: C): string;
  /**
   * What a ticket says. Throws Failure permission_denied for one that is another's, of another
   * server, used or expired. It counts as used only after `use`.
   */
  read(ticket: string, caller: Caller): C;
  /** Notes that a ticket was used. */
  use(content: C): void;
}

/** Milliseconds that a ticket is good for. */
export const TICKET_MS = 60_000;

/** Makes tickets. @param noun what they open, for example `shell` */
export function createTickets<C extends TicketContent>(options: {
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly noun: string;
}): Tickets<C> {
  const { clock, keys, noun } = options;
  /** Ids of tickets that were used, with their ends. */
  const used = new Map<string, number>();
  return {
    sign(content) {
      const text = new TextEncoder().encode(JSON.stringify(content)).toBase64({ alphabet: "base64url", omitPadding: true });
      return `${text}.${signWith(keys, [noun, text])}`;
    },
    read(ticket, caller) {
      const refused = (why: string): Failure =>
        new Failure("permission_denied", `The ticket of the ${noun} ${why}.`, { hint: `Open the ${noun} again.` });
      const [text = "", signature = ""] = ticket.split(/\.(.*)/s);
      if (text === "" || !isSignedBy(keys, [noun, text], signature)) throw refused("is not one of this server");
      const content = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(text, { alphabet: "base64url" }))) as C;
      const now = clock.now();
      for (const [id, end] of used) if (end <= now) used.delete(id);
      if (content.clientId !== caller.clientId) throw refused("is another client's");
      if (caller.environments && !caller.environments.includes(content.environmentId)) throw refused("is of another environment");
      if (content.expiresAt <= now) throw refused("has expired");
      if (used.has(content.id)) throw refused("was used");
      return content;
    },
    use({ expiresAt, id }) {
      used.set(id, expiresAt);
    },
  };
}
