/**
 * The services that the endpoints of the query engine share: the engine, the lookup of a scope's
 * running deployment, and the query log.
 */

import { addressOf } from "../../../domain/addresses.ts";
import { resolveNames } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { whenThere } from "../../at-once.ts";
import { branchOf } from "../../deployments/live-scopes.ts";
import { createEngine } from "../../query/create-engine.ts";
import { createQueryRecorder } from "../../query-log/recorder.ts";
import type { Platform } from "../platform.ts";
import type { Queries } from "./endpoint.ts";
import { createMirror } from "./mirror.ts";

/** Makes the queries of a server. */
export async function createQueries(platform: Omit<Platform, "queries">): Promise<Queries<Caller>> {
  const { addressFor, clock, components, environments, log, meters, objects, queryCounts, headless } = platform;
  const [deployments, telemetry, { events }] = await Promise.all([platform.deployments(), platform.telemetry(), platform.webhooks()]);
  const recorder = createQueryRecorder({ telemetry, objects, log });
  return {
    ...recorder,
    count({ environmentId }, { kind, startedAt, durationMs, rows, isOk }) {
      meters.queried(isOk, durationMs);
      queryCounts.count({ kind, environmentId, endedAt: startedAt + durationMs, rows, isOk });
    },
    isTracing: () => !components.isSuspended("telemetry"),
    clock,
    watch: events.watch,
    engine: createEngine({ clock, log }),
    mirror: createMirror(log),
    resolveDeployment: (names, caller, correlationId) =>
      whenThere(resolveNames(environments, caller, names), (target) =>
        whenThere(deployments.acquire(target, correlationId), (lease) => {
          const { environmentId, scope } = lease.deployment;
          if (target.deploymentId !== "") return lease;
          const next = () => deployments.underway(environmentId, branchOf(scope));
          const mirrors = deployments.mirrorsOf(target, lease.deployment.id, correlationId);
          return { deployment: lease.deployment, release: lease.release, next, ...(mirrors.length > 0 && { mirrors }) };
        }),
      ),
    pageOf: (queryId, environmentId, headers) =>
      headless || !telemetry.hasRoom() ? "" : addressFor(headers) + addressOf("queryRun", { id: queryId }, { environment: environmentId }),
  };
}
