/** Connections of teams to offline stores, and the one that is active in each environment. */

import type { Settings } from "../../domain/kind-settings.ts";
import { CONNECTION_TYPES, type ConnectionType, connectionProblem } from "../../domain/offline-connection.ts";
import type { Sealer } from "../access/sealing.ts";
import { type CollectionParts, createCollection, type Document } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { named } from "./named.ts";
import { createSettingsVault, maskedSettings, resealDocuments, type SealedSettings } from "./sealed-settings.ts";

/** A connection. Times are epoch milliseconds. */
export interface OfflineConnection {
  readonly id: string;
  readonly name: string;
  readonly type: ConnectionType;
  /** Values by setting, secrets masked. */
  readonly settings: Record<string, string>;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What changes of a connection; empty or absent = as it is. */
export interface ConnectionChange {
  readonly name: string;
  readonly type: string;
  readonly settings: Settings;
  readonly removedSettings: readonly string[];
}

/**
 * The way of an environment's history and datasets to a store outside: what a driver of a type of
 * connection brings. Both calls may be repeated.
 */
export interface OfflineRoute {
  /** Sends what is written from now on to the store. Rejects when the store cannot take it. */
  begin(environmentId: string, settings: Settings): Promise<void>;
  /** Sends it to the platform's own store again. */
  end(environmentId: string): Promise<void>;
}

/** The routes that there are. */
export type OfflineRoutes = Readonly<Partial<Record<ConnectionType, OfflineRoute>>>;

/** The connections of all teams. */
export interface OfflineConnections {
  /** Connections of a team, by name. */
  list(teamId: string): Promise<OfflineConnection[]>;
  /** The connection of an id or name. Rejects with Failure not_found. */
  get(teamId: string, idOrName: string): Promise<OfflineConnection>;
  /** All values of a connection. Rejects with Failure not_found or failed_precondition. */
  open(teamId: string, idOrName: string): Promise<Settings>;
  /** Rejects with Failure invalid_argument, already_exists or resource_exhausted. */
  create(teamId: string, name: string, type: string, settings: Settings): Promise<OfflineConnection>;
  /** Rejects with Failure not_found, invalid_argument or already_exists. */
  update(teamId: string, idOrName: string, change: ConnectionChange): Promise<OfflineConnection>;
  /** Rejects with Failure not_found, or failed_precondition when the connection is active. */
  delete(teamId: string, idOrName: string): Promise<OfflineConnection>;
  /** The connection that is active in an environment; undefined when none is. */
  active(teamId: string, environmentId: string): Promise<OfflineConnection | undefined>;
  /**
   * Makes a connection the active one of an environment. Rejects with Failure not_found, or
   * failed_precondition when its type has no route.
   */
  activate(teamId: string, environmentId: string, idOrName: string): Promise<OfflineConnection>;
  /** Makes none active. Rejects with Failure failed_precondition when none is. */
  deactivate(teamId: string, environmentId: string): Promise<OfflineConnection>;
  /** Seals what another key sealed with the key that seals now; returns how many were. */
  reseal(signal: AbortSignal): Promise<number>;
  close(): Promise<void>;
}

interface Content {
  readonly type: ConnectionType;
  readonly settings: SealedSettings;
}

/** Which connection is active in the environment that is the scope. */
interface Binding {
  readonly connectionId: string;
}

const KIND = "offline-connection";
const MAX_CONNECTIONS = 200;
/** Name of the only binding of an environment. */
const ACTIVE = "active";

/** What connections are made of. */
export interface OfflineConnectionParts extends CollectionParts {
  readonly sealer: Sealer;
  /** The routes of the drivers that there are. */
  readonly routes: OfflineRoutes;
  /** Environments of a team. */
  readonly environments: (teamId: string) => Promise<readonly { readonly id: string; readonly name: string }[]>;
}

/** Makes the capability. */
export function createOfflineConnections({ environments, routes, sealer, ...parts }: OfflineConnectionParts): OfflineConnections {
  const listedBy = "svc offline-store connection list";
  const connections = createCollection<Content>(parts, {
    kind: KIND,
    noun: "connection",
    idPrefix: "osc",
    listedBy,
    maxPerScope: MAX_CONNECTIONS,
  });
  const bindings = createCollection<Binding>(parts, { kind: "offline-binding", noun: "binding", idPrefix: "osb", listedBy });
  const vault = createSettingsVault(sealer, KIND);

  const read = ({ id, name, content: { type, settings }, createdAt, updatedAt }: Document<Content>): OfflineConnection => ({
    id,
    name,
    type,
    settings: maskedSettings(CONNECTION_TYPES[type], settings),
    createdAt,
    updatedAt,
  });
  /** A connection that was deleted while it became active is none. */
  const active = async (teamId: string, environmentId: string): Promise<Document<Content> | undefined> => {
    const binding = await bindings.find(environmentId, ACTIVE);
    return binding && connections.find(teamId, binding.content.connectionId);
  };
  const environmentsOf = async (connectionId: string): Promise<string[]> =>
    (await bindings.list()).filter(({ content }) => content.connectionId === connectionId).map(({ scope }) => scope);
  const routeOf = (type: ConnectionType, name: string): OfflineRoute => {
    const route = routes[type];
    if (route) return route;
    throw new Failure("failed_precondition", `The connection '${name}' cannot be active: this version has no driver for ${type}.`, {
      hint: "Nothing was changed. History and datasets stay in the platform's own offline store.",
    });
  };

  return {
    list: async (teamId) => (await connections.list(teamId)).map(read),
    get: async (teamId, idOrName) => read(await connections.get(teamId, idOrName)),
    open: async (teamId, idOrName) => vault.open((await connections.get(teamId, idOrName)).content.settings, teamId),
    async create(teamId, name, type, settings) {
      const problem = connectionProblem(type, settings);
      if (problem !== undefined) throw new Failure("invalid_argument", problem);
      const known = type as ConnectionType;
      const sealed = await vault.close(CONNECTION_TYPES[known], settings, teamId);
      return read(await connections.create(teamId, name, { type: known, settings: sealed }));
    },
    async update(teamId, idOrName, { name, type: given, settings, removedSettings }) {
      let values: Settings = {};
      const document = await connections.update(teamId, idOrName, async ({ content }) => {
        const { type } = content;
        if (given !== "" && given !== type)
          throw new Failure("invalid_argument", `The connection is of type ${type}, and its type never changes.`, {
            hint: "Create another connection.",
          });
        const stays = Object.entries(await vault.open(content.settings, teamId)).filter(([key]) => !removedSettings.includes(key));
        values = { ...Object.fromEntries(stays), ...settings };
        const problem = connectionProblem(type, values);
        if (problem !== undefined) throw new Failure("invalid_argument", problem);
        return {
          content: { type, settings: await vault.close(CONNECTION_TYPES[type], values, teamId) },
          ...(name !== "" && { name }),
        };
      });
      const route = routes[document.content.type];
      for (const environmentId of await environmentsOf(document.id)) await route?.begin(environmentId, values);
      return read(document);
    },
    async delete(teamId, idOrName) {
      const { id, name } = await connections.get(teamId, idOrName);
      const bound = await environmentsOf(id);
      const users = (await environments(teamId)).filter((environment) => bound.includes(environment.id));
      if (users.length > 0)
        throw new Failure("failed_precondition", `The connection '${name}' is active in ${named("environment", users)}.`, {
          hint: "Deactivate it there first, `svc offline-store connection deactivate --environment NAME`.",
        });
      return read(await connections.delete(teamId, id));
    },
    async active(teamId, environmentId) {
      const document = await active(teamId, environmentId);
      return document && read(document);
    },
    async activate(teamId, environmentId, idOrName) {
      const { content, id, name } = await connections.get(teamId, idOrName);
      const route = routeOf(content.type, name);
      await route.begin(environmentId, await vault.open(content.settings, teamId));
      await bindings.put(environmentId, ACTIVE, () => ({ connectionId: id }));
      return read(await connections.get(teamId, id));
    },
    async deactivate(teamId, environmentId) {
      const document = await active(teamId, environmentId);
      if (!document) throw new Failure("failed_precondition", "No connection is active in this environment; nothing was changed.");
      await routes[document.content.type]?.end(environmentId);
      await bindings.delete(environmentId, ACTIVE);
      return read(document);
    },
    reseal: (signal) => resealDocuments(connections, vault, signal),
    async close() {
      await connections.close();
      await bindings.close();
    },
  };
}
