/** ScheduledQueryService: offline queries that run by themselves. */

import type { ConnectRouter } from "@connectrpc/connect";
import { OfflineQueryStatus } from "../../../../gen/svc/v1/offline_query_pb.ts";
import { ScheduledQueryService } from "../../../../gen/svc/v1/scheduled_query_pb.ts";
import { addressOf } from "../../../domain/addresses.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, { addressFor, environments, headless, scheduledQueries }: Platform): void {
  router.service(ScheduledQueryService, {
    async listScheduledQueries(_request, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const { list, schedules } = await scheduledQueries();
      const standing = new Map((await schedules.list(environment.id)).map((one) => [one.name, one]));
      return {
        scheduledQueries: (await list(environment)).map(({ name, schedule, outputs, incrementalResolvers }) => {
          const { nextAt, lastAt } = standing.get(name) ?? {};
          return {
            ...{ name, schedule, outputs, incrementalResolvers },
            ...(nextAt !== undefined && { nextRunAt: msToTimestamp(nextAt) }),
            ...(lastAt !== undefined && { lastRunAt: msToTimestamp(lastAt) }),
          };
        }),
      };
    },

    async triggerScheduledQuery({ name }, context) {
      const caller = callerOf(context);
      const { environment } = await resolveScope(environments, caller, context.requestHeader);
      const { id } = await (await scheduledQueries()).trigger(environment, name, caller.clientId);
      const page = addressOf("run", { id }, { environment: environment.id });
      return { id, status: OfflineQueryStatus.QUEUED, url: headless ? "" : addressFor(context.requestHeader) + page };
    },
  });
}
