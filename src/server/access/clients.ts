/**
 * Clients as requests see them: who exists is remembered, because every request asks, and forgotten the moment that a client is deleted. Whatever else deletes
 * clients of the same store, in another process, has to make this one `forget` them.
 */

import type { Clock } from "../../context/clock.ts";
import type { Log } from "../log.ts";
import type { ClientRecord, IdentityStore } from "../stores/metadata/identity.ts";

/** Milliseconds between two notes of a client's last use. */
const USE_NOTED_EVERY_MS = 600_000;
const MOST_REMEMBERED = 10_000;

/** The clients of a server. */
export interface Clients {
  /** A client that exists; at once when it is remembered. */
  find(id: string): ClientRecord | undefined | Promise<ClientRecord | undefined>;
  /** Says that a client calls now. */
  used(id: string): void;
  /** The clients of a team, oldest first. */
  list(teamId: string): Promise<ClientRecord[]>;
  /** Takes a client's credentials back; gives the number of browser sessions that ended with it. Undefined when there is no such client. */
  delete(id: string): Promise<number | undefined>;
  /** Makes the next request look again whether a client exists. */
  forget(id: string): void;
}

interface Remembered {
  readonly client: ClientRecord;
  notedAt: number;
}

/** Makes the clients of a server. `owner` exists beside those of the store, as long as this server runs. */
export function createClients(options: {
  readonly metadata: IdentityStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly owner: ClientRecord;
}): Clients {
  const { metadata, clock, log, owner } = options;
  const remembered = new Map<string, Remembered>();
  let forgotten = 0;

  const load = async (id: string): Promise<ClientRecord | undefined> => {
    const before = forgotten;
    const client = await metadata.client(id);
    if (client && before === forgotten) {
      if (remembered.size >= MOST_REMEMBERED) remembered.clear();
      remembered.set(id, { client, notedAt: client.lastUsedAt ?? 0 });
    }
    return client;
  };
  const forget = (id: string): void => {
    forgotten++;
    remembered.delete(id);
  };

  return {
    find: (id) => (id === owner.id ? owner : (remembered.get(id)?.client ?? load(id))),
    used(id) {
      const known = remembered.get(id);
      if (!known) return;
      const now = clock.now();
      if (now - known.notedAt < USE_NOTED_EVERY_MS) return;
      known.notedAt = now;
      metadata.touchClient(id, now).catch((error: unknown) => log.warning("a client's last use was not noted", { error: String(error) }));
    },
    list: (teamId) => metadata.clients(teamId),
    async delete(id) {
      const ended = await metadata.deleteClient(id);
      forget(id);
      return ended;
    },
    forget,
  };
}
