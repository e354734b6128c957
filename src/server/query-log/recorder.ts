/** The writer of the query log: runs, spans and stages. */

import { branchOf } from "../deployments/live-scopes.ts";
import type { Log } from "../log.ts";
import type { AnswerHead } from "../query/answer/answer.ts";
import type { LiveDeployment } from "../query/live-deployment.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import type { QueryLogEntry, SpanRecord, TelemetryStore } from "../stores/telemetry/store.ts";
import { storeStages } from "./stages.ts";

/** The log entry of a query, without the deployment that it ran on. */
export type QueryRecord = Omit<QueryLogEntry, "environmentId" | "branch" | "deploymentId">;

/** The recorder of queries. */
export interface QueryRecorder {
  /** Keeps a query that was run or refused. */
  recordQuery(deployment: LiveDeployment, record: QueryRecord): void;
  /** Keeps the spans of a query. */
  recordSpans(deployment: LiveDeployment, spans: readonly Omit<SpanRecord, "environmentId">[]): void;
  /** Keeps the rows of a query's steps; false when that failed, which is logged. */
  keepStages(answer: AnswerHead, startedAt: number): Promise<boolean>;
}

/** Makes the recorder of a server. */
export function createQueryRecorder(options: {
  readonly telemetry: TelemetryStore;
  readonly objects: ObjectStore;
  readonly log: Log;
}): QueryRecorder {
  const { telemetry, objects, log } = options;
  return {
    recordQuery({ id, environmentId, scope }, record) {
      telemetry.recordQuery({ ...record, deploymentId: id, environmentId, branch: branchOf(scope) });
    },
    recordSpans({ environmentId }, spans) {
      telemetry.recordSpans(spans.map((span) => ({ ...span, environmentId })));
    },
    async keepStages({ queryId, deployment, stages }, startedAt) {
      try {
        const run = { queryId, environmentId: deployment.environmentId, startedAt };
        await storeStages({ telemetry, objects }, run, stages);
        return true;
      } catch (error) {
        log.error("the stages of a query could not be kept", { queryId, error: String(error) });
        return false;
      }
    },
  };
}
