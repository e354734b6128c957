/** What both doors of the query engine share: the engine, the way from a scope to a running deployment, and the query log. */

import { whenThere } from "./at-once.ts";
import type { Caller } from "./auth/tokens.ts";
import { branchOf } from "./deployments/live-scopes.ts";
import type { Platform } from "./platform.ts";
import type { AnswerHead } from "./query/answer/answer.ts";
import { createEngine, type OnlineEngine } from "./query/create-engine.ts";
import type { QueryRecord } from "./query/live-deployment.ts";
import { storeStages } from "./query-stages.ts";
import { resolveNames } from "./scope.ts";
import type { DeploymentLease } from "./services/query-door.ts";
import type { SpanRecord } from "./stores/telemetry/store.ts";

/** Which deployment a query asks: names or ids, empty = not said. */
export interface QueryScope {
  readonly environment: string;
  readonly branch: string;
  readonly deployment: string;
}

/** Queries as the server's doors run them. */
export interface Queries {
  readonly engine: OnlineEngine;
  /** A running deployment of a scope. Throws Failure. */
  resolveDeployment(scope: QueryScope, caller: Caller): DeploymentLease | Promise<DeploymentLease>;
  /** Keeps a query in the log. */
  recordQuery(record: QueryRecord): void;
  /** Keeps the spans of a query. */
  recordSpans(spans: readonly Omit<SpanRecord, "environmentId">[]): void;
  /** Keeps what the steps of a query gave; false when that failed, which the server's log says. */
  keepStages(answer: AnswerHead, startedAt: number): Promise<boolean>;
  /**
   * Page of the dashboard that shows a run that is recorded now, for whoever sent these headers; empty when there is no dashboard, or the log is too busy to keep
   * the run.
   */
  pageOf(queryId: string, environmentId: string, headers: Headers): string;
}

const loaded = new WeakMap<Platform, Promise<Queries>>();

/** The queries of a server, made on first use. */
export function queriesOf(platform: Platform): Promise<Queries> {
  const known = loaded.get(platform);
  if (known) return known;
  const queries = createQueries(platform);
  loaded.set(platform, queries);
  queries.catch(() => loaded.delete(platform));
  return queries;
}

async function createQueries(platform: Platform): Promise<Queries> {
  const { addressFor, clock, log, metadata, headless } = platform;
  const [deployments, telemetry] = await Promise.all([platform.deployments(), platform.telemetry()]);
  const places = new Map<string, { readonly environmentId: string; readonly branch: string }>();
  return {
    engine: createEngine({ clock, log }),
    resolveDeployment: (names, caller) =>
      whenThere(resolveNames(metadata, caller, { ...names, project: "" }), (target) =>
        whenThere(deployments.acquire(target), (lease) => {
          const { id, environmentId, scope } = lease.deployment;
          const branch = branchOf(scope);
          if (!places.has(id)) places.set(id, { environmentId, branch });
          if (target.deploymentId !== "") return lease;
          return { deployment: lease.deployment, release: lease.release, next: () => deployments.underway(environmentId, branch) };
        }),
      ),
    recordQuery(record) {
      const place = places.get(record.deploymentId);
      if (place) telemetry.recordQuery({ ...record, environmentId: place.environmentId, branch: place.branch });
    },
    recordSpans(spans) {
      const place = places.get(spans[0]?.deploymentId ?? "");
      if (place) telemetry.recordSpans(spans.map((span) => ({ ...span, environmentId: place.environmentId })));
    },
    async keepStages({ queryId, deployment, stages }, startedAt) {
      try {
        const run = { queryId, environmentId: deployment.environmentId, startedAt };
        await storeStages({ telemetry, objects: platform.objects }, run, stages);
        return true;
      } catch (error) {
        log.error("the stages of a query could not be kept", { queryId, error: String(error) });
        return false;
      }
    },
    pageOf: (queryId, environmentId, headers) =>
      headless || !telemetry.hasRoom() ? "" : `${addressFor(headers)}/environments/${environmentId}/query-runs/${queryId}`,
  };
}
