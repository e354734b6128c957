/** OfflineStoreService: connections of a team to offline stores, and the active one. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { OfflineConnectionInputSchema, OfflineConnectionSchema, OfflineStoreService } from "../../../../gen/svc/v1/offline_store_pb.ts";
import { type ConnectionType, connectionProblem } from "../../../domain/offline-connection.ts";
import { requireWholeTeam, resolveScope } from "../../access/scope.ts";
import type { OfflineConnection, OfflineConnections } from "../../connections/offline-connections.ts";
import { Failure } from "../../failure.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { recordMessage } from "../record-message.ts";
import { checkMessages } from "./probe-checks.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, { approvals, clock, connections, environments }: Platform): void {
  const offline = async (): Promise<OfflineConnections> => (await connections()).offline;
  const teamOf = (context: HandlerContext): string => callerOf(context).teamId;
  /** Refuses credentials that are limited to some environments: others may use the connection. */
  const wholeTeamOf = (context: HandlerContext): string => {
    requireWholeTeam(callerOf(context), "changes of the team's connections");
    return teamOf(context);
  };
  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> =>
    (await resolveScope(environments, callerOf(context), context.requestHeader)).environment;
  /** The environment of a call that changes where its history is kept. */
  const changeableOf = async (context: HandlerContext): Promise<EnvironmentRecord> => {
    const environment = await environmentOf(context);
    await (await approvals()).refuseProtected(environment, "its offline store was not changed");
    return environment;
  };
  /** Refuses to change a connection that is active in a protected environment. */
  const refuseInUse = async (id: string, context: HandlerContext): Promise<void> => {
    const store = await offline();
    const connection = await store.get(teamOf(context), id);
    for (const environment of await environments.list(teamOf(context), ""))
      if ((await store.active(teamOf(context), environment.id))?.id === connection.id)
        await (await approvals()).refuseProtected(environment, `its connection '${connection.name}' was not changed`);
  };
  const messages = async (found: readonly OfflineConnection[], context: HandlerContext) => {
    const active = await (await offline()).active(teamOf(context), (await environmentOf(context)).id);
    return found.map((connection) => ({ ...recordMessage(OfflineConnectionSchema, connection), active: connection.id === active?.id }));
  };
  const message = async (connection: OfflineConnection, context: HandlerContext) => (await messages([connection], context))[0];

  router.service(OfflineStoreService, {
    listOfflineConnections: async (_, context) => ({
      connections: await messages(await (await offline()).list(teamOf(context)), context),
    }),
    async getOfflineConnection({ id }, context) {
      const store = await offline();
      const environment = await environmentOf(context);
      const wanted = id || (await activeOrOnly(store, teamOf(context), environment));
      return { connection: await message(await store.get(teamOf(context), wanted), context) };
    },
    async createOfflineConnection({ connection = create(OfflineConnectionInputSchema) }, context) {
      const { name, settings, type } = connection;
      return { connection: await message(await (await offline()).create(wholeTeamOf(context), name, type, settings), context) };
    },
    async updateOfflineConnection({ change = create(OfflineConnectionInputSchema), id }, context) {
      const teamId = wholeTeamOf(context);
      await refuseInUse(id, context);
      return { connection: await message(await (await offline()).update(teamId, id, change), context) };
    },
    async deleteOfflineConnection({ id }, context) {
      return { connection: await message(await (await offline()).delete(wholeTeamOf(context), id), context) };
    },
    async activateOfflineConnection({ id }, context) {
      const environment = await changeableOf(context);
      const connection = await (await offline()).activate(teamOf(context), environment.id, id);
      return { connection: await message(connection, context), environment: environment.name };
    },
    async deactivateOfflineConnection(_, context) {
      const environment = await changeableOf(context);
      const connection = await (await offline()).deactivate(teamOf(context), environment.id);
      return { connection: await message(connection, context), environment: environment.name };
    },
    async testOfflineConnection({ target }, context) {
      const environment = await environmentOf(context);
      const [type, values] = await (async (): Promise<readonly [ConnectionType, Readonly<Record<string, string>>]> => {
        if (target.case === "connection") {
          const { settings, type } = target.value;
          const problem = connectionProblem(type, settings);
          if (problem !== undefined) throw new Failure("invalid_argument", problem);
          return [type as ConnectionType, settings];
        }
        const store = await offline();
        const wanted = target.value || (await activeOrOnly(store, teamOf(context), environment));
        const { id, type } = await store.get(teamOf(context), wanted);
        return [type, await store.open(teamOf(context), id)];
      })();
      const { tryConnection } = await import("../../connections/trying.ts");
      return { checks: checkMessages(await tryConnection(type, values, { clock, signal: context.signal })) };
    },
  });
}

/** The id of the environment's active connection, or of the team's only one. */
async function activeOrOnly(store: OfflineConnections, teamId: string, { id, name }: EnvironmentRecord): Promise<string> {
  const active = await store.active(teamId, id);
  if (active) return active.id;
  const [first, ...others] = await store.list(teamId);
  if (!first) throw new Failure("not_found", "There are no connections.", { hint: "`svc offline-store connection create` makes one." });
  if (others.length === 0) return first.id;
  throw new Failure("failed_precondition", `No connection is active in environment '${name}', and there are ${others.length + 1}.`, {
    hint: "Name one by its id; `svc offline-store connection list` shows all.",
  });
}
