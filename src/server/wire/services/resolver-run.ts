/** ResolverRunService: resolvers that run by themselves. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  GetResolverRunResponseSchema,
  ListResolverRunsResponseSchema,
  ListScheduledResolversResponseSchema,
  ResolverRunCause,
  type ResolverRunSchema,
  ResolverRunService,
  ResolverRunState,
  type ScheduledResolverSchema,
  type TriggerResolverRequest,
  TriggerResolverResponseSchema,
} from "../../../../gen/svc/v1/resolver_run_pb.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import { askedTrace } from "../../query/job-tracer.ts";
import type { ResolverSchedule } from "../../resolver-runs/resolver-schedules.ts";
import type { ResolverRunRecord } from "../../stores/metadata/resolver-runs.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { readPage } from "./page-token.ts";
import { standingMessage } from "./schedule-message.ts";

const STATES = {
  received: ResolverRunState.RECEIVED,
  running: ResolverRunState.RUNNING,
  succeeded: ResolverRunState.SUCCEEDED,
  failed: ResolverRunState.FAILED,
} as const;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const scopeOf = async (context: HandlerContext): Promise<DeploymentTarget> =>
    resolveScope(platform.environments, callerOf(context), context.requestHeader);
  const shown = (run: ResolverRunRecord, { requestHeader }: HandlerContext) => runMessage(run, platform, requestHeader);
  const paused = async (resolver: string, isPaused: boolean, context: HandlerContext) => {
    const { environment } = await scopeOf(context);
    return scheduleMessage(await (await platform.resolverRuns()).schedules.pause(environment, resolver, isPaused));
  };

  router.service(ResolverRunService, {
    async triggerResolver(request, context) {
      const run = await triggerRun(platform, await scopeOf(context), request, context.requestHeader);
      return create(TriggerResolverResponseSchema, { run: shown(run, context) });
    },

    async listScheduledResolvers(_request, context) {
      const { environment } = await scopeOf(context);
      const { schedules } = await platform.resolverRuns();
      return create(ListScheduledResolversResponseSchema, { resolvers: (await schedules.list(environment.id)).map(scheduleMessage) });
    },

    async pauseScheduledResolver({ resolver }, context) {
      return { resolver: await paused(resolver, true, context) };
    },

    async resumeScheduledResolver({ resolver }, context) {
      return { resolver: await paused(resolver, false, context) };
    },

    async listResolverRuns({ resolver, since, until, pageSize, pageToken }, context) {
      const { environment } = await scopeOf(context);
      const { runs } = await platform.resolverRuns();
      const times = { since: since && timestampToMs(since), until: until && timestampToMs(until) };
      const filter = JSON.stringify(["resolver-runs", environment.id, resolver]);
      const page = await readPage(platform.keys.objects, filter, { pageSize, pageToken }, (limit, before) =>
        runs.list({ environmentId: environment.id, resolver: resolver || undefined, ...times, limit, before }),
      );
      return create(ListResolverRunsResponseSchema, {
        runs: page.items.map((run) => shown(run, context)),
        nextPageToken: page.nextPageToken,
      });
    },

    async getResolverRun({ id }, context) {
      const { environment } = await scopeOf(context);
      const { runs } = await platform.resolverRuns();
      return create(GetResolverRunResponseSchema, { run: shown(await runs.find(id, environment.id), context) });
    },
  });
}

/** Asks for a run as a request states it. Rejects with Failure. */
export async function triggerRun(
  platform: Platform,
  target: DeploymentTarget,
  { resolver, persistOnline, persistOffline, idempotencyKey, lowerBound, upperBound, deploymentId }: TriggerResolverRequest,
  headers: Headers,
): Promise<ResolverRunRecord> {
  const { runs } = await platform.resolverRuns();
  return runs.trigger(target, {
    ...{ resolver, persistOnline, persistOffline, idempotencyKey, traceparent: askedTrace(headers) },
    deploymentId: deploymentId || target.deploymentId,
    lowerBound: lowerBound ? timestampToMs(lowerBound) : null,
    upperBound: upperBound ? timestampToMs(upperBound) : null,
  });
}

/** A run as its message, for a caller with these headers. */
export function runMessage(
  run: ResolverRunRecord,
  platform: Pick<Platform, "addressFor" | "headless">,
  headers: Headers,
): MessageInitShape<typeof ResolverRunSchema> {
  const { id, resolver, deploymentId, error, request, createdAt, startedAt, endedAt } = run;
  const { lowerBound, upperBound, persistOnline, persistOffline } = request;
  return {
    ...{ id, resolver, deploymentId, error, persistOnline, persistOffline },
    state: STATES[run.state],
    cause: run.cause === "schedule" ? ResolverRunCause.SCHEDULE : ResolverRunCause.TRIGGER,
    createdAt: msToTimestamp(createdAt),
    ...(startedAt !== undefined && { startedAt: msToTimestamp(startedAt) }),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
    rows: BigInt(run.rows),
    failedRows: BigInt(run.failedRows),
    ...(lowerBound !== null && { lowerBound: msToTimestamp(lowerBound) }),
    ...(upperBound !== null && { upperBound: msToTimestamp(upperBound) }),
    idempotencyKey: run.idempotencyKey ?? "",
    url: pageAddress(platform, headers, run.environmentId, "run", { id }),
  };
}

function scheduleMessage({
  name: resolver,
  text: schedule,
  filter,
  sample,
  ...standing
}: ResolverSchedule): MessageInitShape<typeof ScheduledResolverSchema> {
  return { ...{ resolver, schedule, filter, sample }, ...standingMessage(standing) };
}
