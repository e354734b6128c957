/** QueryService: online queries over Connect. */

import type { ConnectRouter, HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { QueryService } from "../../../gen/svc/v1/query_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { queriesOf } from "../queries.ts";
import type { QueryEngine, QueryRecord } from "../query/engine.ts";
import type { DeploymentLease, QueryScope } from "./query-http.ts";

/** What the service works with. */
export interface QueryServiceDeps {
  readonly engine: QueryEngine;
  readonly clock: Clock;
  /** The deployment of a scope; throws when there is none. */
  resolveDeployment(scope: QueryScope, context: HandlerContext): DeploymentLease | Promise<DeploymentLease>;
  /** Keeps a query that was run or refused. */
  recordQuery(record: QueryRecord, context: HandlerContext): void;
  /** Page of the dashboard that shows a run; empty = none. */
  pageOf?(queryId: string, environmentId: string): string;
}

/** Adds the service to a router. The engine is loaded with the first query. */
export function register(router: ConnectRouter, platform: Platform): void {
  let loading: Promise<ServiceImpl<typeof QueryService>> | undefined;
  const load = () =>
    queriesOf(platform).then(({ engine, resolveDeployment, recordQuery }) =>
      createQueryService({
        engine,
        clock: platform.clock,
        resolveDeployment: (scope, context) => resolveDeployment(scope, callerOf(context)),
        recordQuery,
        pageOf: (queryId, environmentId) => `${platform.url}/environments/${environmentId}/query-runs/${queryId}`,
      }),
    );
  router.service(QueryService, {
    async query(request, context) {
      loading ??= load().catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      return (await loading).query(request, context);
    },
  });
}

/** Makes the service. A refused query is thrown as QueryRefused, which the error interceptor turns into INVALID_ARGUMENT with its details. */
export function createQueryService(deps: QueryServiceDeps): ServiceImpl<typeof QueryService> {
  return {
    async query(request, context) {
      const headers = context.requestHeader;
      const lease = await deps.resolveDeployment(
        {
          environment: headers.get("svc-environment") ?? "",
          branch: headers.get("svc-branch") ?? "",
          deployment: request.deploymentId || (headers.get("svc-deployment") ?? ""),
        },
        context,
      );
      const { deployment } = lease;
      const startedAt = deps.clock.now();
      const began = performance.now();
      const base = { deploymentId: deployment.id, startedAt, request };
      try {
        const response = await deps.engine.query(deployment, request, startedAt, context.signal);
        const queryId = response.meta?.queryId ?? "";
        if (response.meta && deps.pageOf) response.meta.url = deps.pageOf(queryId, deployment.environmentId);
        deps.recordQuery({ ...base, queryId, durationMs: performance.now() - began, response }, context);
        return response;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const queryId = Bun.randomUUIDv7("hex", Math.floor(startedAt));
        deps.recordQuery({ ...base, queryId, durationMs: performance.now() - began, error: message }, context);
        throw error;
      } finally {
        lease.release();
      }
    },
  };
}
