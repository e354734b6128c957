/** ScheduledQueryService: offline queries that run by themselves. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { OfflineQueryStatus } from "../../../../gen/svc/v1/offline_query_pb.ts";
import { ScheduledQueryService, type ScheduledQueryStandingSchema } from "../../../../gen/svc/v1/scheduled_query_pb.ts";
import { resolveScope } from "../../access/scope.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { standingMessage } from "./schedule-message.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { environments, scheduledQueries } = platform;
  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> =>
    (await resolveScope(environments, callerOf(context), context.requestHeader)).environment;
  const listed = async (environment: EnvironmentRecord): Promise<MessageInitShape<typeof ScheduledQueryStandingSchema>[]> => {
    const { list, schedules } = await scheduledQueries();
    const standings = new Map((await schedules.list(environment.id)).map((one) => [one.name, one]));
    return (await list(environment)).map(({ name, schedule, outputs, incrementalResolvers, resourceGroup }) => {
      const standing = standings.get(name);
      return { ...{ name, schedule, outputs, incrementalResolvers, resourceGroup }, ...(standing && standingMessage(standing)) };
    });
  };
  const paused = async (name: string, isPaused: boolean, context: HandlerContext) => {
    const environment = await environmentOf(context);
    await (await scheduledQueries()).pause(environment, name, isPaused);
    return (await listed(environment)).find((one) => one.name === name);
  };

  router.service(ScheduledQueryService, {
    async listScheduledQueries(_request, context) {
      return { scheduledQueries: await listed(await environmentOf(context)) };
    },

    async pauseScheduledQuery({ name }, context) {
      return { scheduledQuery: await paused(name, true, context) };
    },

    async resumeScheduledQuery({ name }, context) {
      return { scheduledQuery: await paused(name, false, context) };
    },

    async triggerScheduledQuery({ name, resourceGroup }, context) {
      const environment = await environmentOf(context);
      const { id } = await (await scheduledQueries()).trigger(environment, name, callerOf(context).clientId, resourceGroup);
      const url = pageAddress(platform, context.requestHeader, environment.id, "run", { id });
      return { id, status: OfflineQueryStatus.QUEUED, url };
    },
  });
}
