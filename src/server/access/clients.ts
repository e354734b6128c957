/**
 * A cache of clients, because every request looks one up. A client is forgotten as soon as it is
 * deleted or changed, on this node or on another; all are forgotten twice a minute, in case the
 * notification of another node was lost.
 */

import type { Clock } from "../../context/clock.ts";
import { commonPermissions } from "../../domain/permissions.ts";
import type { Bus } from "../jobs/bus.ts";
import type { Log } from "../log.ts";
import { followStore } from "../nodes/follow.ts";
import type { ClientChange, ClientRecord, IdentityStore } from "../stores/metadata/identity.ts";
import type { Caller } from "./tokens.ts";

/** Milliseconds between two notes of a client's last use. */
const USE_NOTED_EVERY_MS = 600_000;
const MOST_REMEMBERED = 10_000;

/** The clients of a server. */
export interface Clients {
  /**
   * A client by its id, with no more than its parent has; without a promise when it is remembered.
   * Undefined when it or its parent does not exist.
   */
  find(id: string): ClientRecord | undefined | Promise<ClientRecord | undefined>;
  /** Notes that a client was used now. */
  used(id: string): void;
  /** The clients of a team, oldest first. */
  list(teamId: string): Promise<ClientRecord[]>;
  create(client: ClientRecord): Promise<void>;
  /** Creates a client, or changes name, permissions and environments of the one with its id. */
  put(client: ClientRecord): Promise<void>;
  /** Changes a client and returns it; undefined when there is none. */
  update(id: string, change: ClientChange): Promise<ClientRecord | undefined>;
  /**
   * Deletes a client with its credentials and the clients whose parent it is, and returns the
   * number of their browser sessions, which end. Undefined when there is no such client.
   */
  delete(id: string): Promise<number | undefined>;
  /** Makes the next request look the client up in the store. */
  forget(id: string): void;
  /** Stops listening to other nodes. */
  close(): Promise<void>;
}

/** Whether a client's credentials have ended. */
export function isOver({ expiresAt }: ClientRecord, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

/** What a token or session of a client may do: what it was given, and the client still may. */
export function callerOf(client: ClientRecord, given: readonly string[]): Caller {
  const permissions = commonPermissions(given, client.permissions);
  const { id: clientId, teamId, environments, expiresAt, personId, parentId, subject } = client;
  const isPerson = subject !== undefined;
  const endsWithLogin = isPerson || parentId !== undefined;
  return { clientId, teamId, permissions, environments, expiresAt, personId, isPerson, endsWithLogin };
}

/** Why the credentials of a client that is over are refused. */
export function whyOver({ tokenId }: ClientRecord): string {
  return tokenId === undefined ? "The login has ended: log in again." : "The service token has expired.";
}

/** A client with no more than its parent has. */
function limitedBy(client: ClientRecord, parent: ClientRecord): ClientRecord {
  const both = client.environments?.filter((id) => parent.environments?.includes(id) ?? true);
  return {
    ...client,
    permissions: commonPermissions(client.permissions, parent.permissions),
    environments: both ?? parent.environments,
  };
}

interface Remembered {
  readonly client: ClientRecord;
  notedAt: number;
}

/**
 * Makes the clients of a server. `owner` is a client beside those of the store as long as this
 * server runs.
 */
export function createClients(options: {
  readonly metadata: IdentityStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly owner: ClientRecord;
}): Clients {
  const { metadata, bus, clock, log, owner } = options;
  const remembered = new Map<string, Remembered>();
  let forgotten = 0;

  const read = async (id: string): Promise<ClientRecord | undefined> => {
    const client = await metadata.client(id);
    if (client?.parentId === undefined) return client;
    const parent = await metadata.client(client.parentId);
    return parent && limitedBy(client, parent);
  };
  const load = async (id: string): Promise<ClientRecord | undefined> => {
    const before = forgotten;
    const client = await read(id);
    if (client && before === forgotten) {
      if (remembered.size >= MOST_REMEMBERED) remembered.clear();
      remembered.set(id, { client, notedAt: client.lastUsedAt ?? 0 });
    }
    return client;
  };
  const forget = (id: string): void => {
    forgotten++;
    for (const [known, { client }] of remembered) if (known === id || client.parentId === id) remembered.delete(known);
  };
  const changed = (id: string): void => {
    forget(id);
    bus.publish("clients", id);
  };
  const following = followStore({
    bus,
    topic: "clients",
    clock,
    log,
    read(ids = new Set(remembered.keys())) {
      ids.forEach(forget);
    },
  });

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
    async list(teamId) {
      const stored = await metadata.clients(teamId);
      const byId = new Map(stored.map((client) => [client.id, client]));
      return stored.map((client) => {
        const parent = byId.get(client.parentId ?? "");
        return parent ? limitedBy(client, parent) : client;
      });
    },
    create: (client) => metadata.createClient(client),
    async put(client) {
      await metadata.putClient(client);
      changed(client.id);
    },
    async update(id, change) {
      const updated = await metadata.updateClient(id, change);
      changed(id);
      return updated;
    },
    async delete(id) {
      const ended = await metadata.deleteClient(id);
      changed(id);
      return ended;
    },
    forget,
    close: () => following.stop(),
  };
}
