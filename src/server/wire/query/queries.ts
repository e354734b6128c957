/**
 * The services that the endpoints of the query engine share: the engine, the lookup of a scope's
 * running deployment, and the query log.
 */

import { samplingOf } from "../../../domain/span-sampling.ts";
import { resolveNames } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { whenThere } from "../../at-once.ts";
import { branchOf } from "../../deployments/live-scopes.ts";
import { QueryMeter } from "../../metrics/query-meter.ts";
import { createEngine } from "../../query/create-engine.ts";
import type { LiveDeployment } from "../../query/live-deployment.ts";
import { createQueryRecorder, SILENT_RECORDER } from "../../query-log/recorder.ts";
import { SpanSampler } from "../../query-log/span-sampler.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import type { Queries } from "./endpoint.ts";
import { createMirror } from "./mirror.ts";

/** Makes the queries of a server. */
export async function createQueries(platform: Omit<Platform, "queries">): Promise<Queries<Caller>> {
  const { afterAnswers, clock, components, environments, log, metrics, objects, queryCounts } = platform;
  const [deployments, telemetry, { events }] = await Promise.all([platform.deployments(), platform.telemetry(), platform.webhooks()]);
  const recorder = metrics.isOn ? createQueryRecorder({ telemetry, objects, log }) : SILENT_RECORDER;
  let sampling = samplingOf({});
  components.watch("metrics", ({ spec }) => {
    sampling = samplingOf(spec);
  });
  const meters = new WeakMap<LiveDeployment, QueryMeter>();
  const meterOf = (deployment: LiveDeployment): QueryMeter => {
    let meter = meters.get(deployment);
    if (!meter) {
      const { environmentId, id, scope, tag } = deployment;
      meter = new QueryMeter(metrics, { environmentId, deployment: tag || id, branch: branchOf(scope) });
      meters.set(deployment, meter);
    }
    return meter;
  };
  return {
    ...recorder,
    count(deployment, { kind, startedAt, durationMs, rows, isOk, queryName, code, traceId }) {
      afterAnswers.later(() => {
        const { environmentId } = deployment;
        meterOf(deployment).ended({ durationMs, queryName, code, traceId });
        queryCounts.count({ kind, environmentId, endedAt: startedAt + durationMs, rows, isOk });
      });
    },
    ...(metrics.isOn && {
      recordQuery: (...recorded) => afterAnswers.later(() => recorder.recordQuery(...recorded)),
      sampler: new SpanSampler(
        () => sampling,
        () => clock.now(),
      ),
    }),
    agentOf: ({ clientId }) => clientId,
    isTracing: () => !components.isSuspended("telemetry"),
    clock,
    watch: events.watch,
    engine: createEngine({ clock, log, metering: { metrics, operation: "online", features: platform.featureRecorder } }),
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
      telemetry.hasRoom() ? pageAddress(platform, headers, environmentId, "queryRun", { id: queryId }) : "",
  };
}
