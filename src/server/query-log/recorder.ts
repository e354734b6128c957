/** The writer of the query log: runs, their plans and errors, spans and stages. */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { type FeatureValue, toPlainJson } from "../../domain/value.ts";
import { branchOf } from "../deployments/live-scopes.ts";
import type { Log } from "../log.ts";
import type { AnswerHead } from "../query/answer/answer.ts";
import { describePlan } from "../query/answer/plan-description.ts";
import type { LiveDeployment } from "../query/live-deployment.ts";
import type { Plan } from "../query/plan/plan.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import type { QueryFacts, QueryLogEntry, SpanRecord, TelemetryStore } from "../stores/telemetry/store.ts";
import { errorRecords, type RecordedFailure } from "./error-records.ts";
import { storeStages } from "./stages.ts";

/** What the recorder finds out itself of a query. */
type Found = "environmentId" | "branch" | "deploymentId" | "errorCount" | "errorCodes" | KeyFacts | PlanFacts;
type KeyFacts = "primaryKey" | "secretKey";
type PlanFacts = "queryVersion" | "isNamed" | "planHash" | "rootNamespace";

/** The log entry of a query, as its endpoint knows it. */
export type QueryRecord = Omit<QueryLogEntry, Found>;

/** How a query went. */
export interface QueryOutcome {
  /** Absent when it was refused or the server failed. */
  readonly answer?: Pick<AnswerHead, "plan" | "named" | "rootKey">;
  readonly failures: readonly RecordedFailure[];
}

/** The recorder of queries. */
export interface QueryRecorder {
  /** Keeps a query that was run or refused. */
  recordQuery(deployment: LiveDeployment, record: QueryRecord, outcome: QueryOutcome): void;
  /** Keeps the spans of a query. */
  recordSpans(deployment: LiveDeployment, spans: readonly Omit<SpanRecord, "environmentId">[]): void;
  /** Keeps the rows of a query's steps; false when that failed, which is logged. */
  keepStages(answer: AnswerHead, startedAt: number): Promise<boolean>;
}

/** What keeps nothing, to measure what recording costs. */
export const SILENT_RECORDER: QueryRecorder = { recordQuery() {}, recordSpans() {}, keepStages: async () => false };

/** Most characters of a plan as it is kept, and of a key that can be read. */
const MAX_PLAN = 256 * 1024;
const MAX_KEY = 300;
const NO_KEY: Pick<QueryFacts, KeyFacts> = { primaryKey: "" };
/** The tag of features whose values are not to be read. */
const PERSONAL = "pii";

/** Makes the recorder of a server. */
export function createQueryRecorder(options: {
  readonly telemetry: TelemetryStore;
  readonly objects: ObjectStore;
  readonly log: Log;
}): QueryRecorder {
  const { telemetry, objects, log } = options;
  /** Plans that were handed over. */
  const kept = new WeakSet<Plan>();
  const personal = new WeakMap<LiveDeployment, ReadonlySet<string>>();

  const keepPlan = ({ id, environmentId }: LiveDeployment, plan: Plan, firstAt: number): void => {
    kept.add(plan);
    const rootNamespace = plan.frames[0]?.namespace.name ?? "";
    const outputs = plan.outputs.map(({ path }) => path);
    const described = JSON.stringify(describePlan(plan));
    const text = described.length <= MAX_PLAN ? described : JSON.stringify({ plan_hash: plan.hash, omitted: "it is too large to be kept" });
    telemetry.recordPlan({ hash: plan.hash, environmentId, deploymentId: id, firstAt, rootNamespace, outputs, plan: text });
  };

  const keyFacts = (deployment: LiveDeployment, { rootKey }: NonNullable<QueryOutcome["answer"]>): Pick<QueryFacts, KeyFacts> => {
    if (!rootKey) return { primaryKey: "" };
    let features = personal.get(deployment);
    if (!features) {
      features = personalFeatures(deployment);
      personal.set(deployment, features);
    }
    const key = keyText(rootKey.value);
    return key.length > MAX_KEY || features.has(rootKey.feature.fqn) ? { primaryKey: "", secretKey: key } : { primaryKey: key };
  };

  return {
    recordQuery(deployment, record, { answer, failures }) {
      const { id, environmentId, scope } = deployment;
      const plan = answer?.plan;
      if (plan && !kept.has(plan)) keepPlan(deployment, plan, record.startedAt);
      const { primaryKey, secretKey } = answer ? keyFacts(deployment, answer) : NO_KEY;
      // Written out: to copy the record with spreads costs as much as all that is done with it.
      telemetry.recordQuery({
        kind: record.kind,
        queryId: record.queryId,
        startedAt: record.startedAt,
        durationMs: record.durationMs,
        queryName: record.queryName,
        correlationId: record.correlationId,
        agentId: record.agentId,
        traceId: record.traceId,
        rows: record.rows,
        hitShare: record.hitShare,
        encoding: record.encoding,
        request: record.request,
        response: record.response,
        origins: record.origins,
        error: record.error,
        deploymentId: id,
        environmentId,
        branch: branchOf(scope),
        queryVersion: answer?.named?.version ?? "",
        isNamed: answer?.named !== undefined,
        planHash: plan?.hash ?? "",
        rootNamespace: plan?.frames[0]?.namespace.name ?? "",
        primaryKey,
        secretKey,
        errorCount: failures.length,
        errorCodes: failures.length === 0 ? "" : codesOf(failures),
      });
      if (failures.length === 0) return;
      const operation = {
        ...{ environmentId, deploymentId: id, branch: branchOf(scope), at: record.startedAt, operationId: record.queryId },
        ...{ operationKind: record.kind === "bulk" ? ("bulk_query" as const) : ("query" as const), queryName: record.queryName },
      };
      telemetry.recordErrors(errorRecords(operation, failures));
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

/** The features of a deployment whose values are not to be read, by FQN. */
function personalFeatures({ graph }: LiveDeployment): Set<string> {
  return new Set(graph.featureSets.flatMap(({ features }) => features.flatMap(({ fqn, tags }) => (tags.includes(PERSONAL) ? [fqn] : []))));
}

/** A key as people write it. */
function keyText(value: FeatureValue): string {
  const plain = typeof value === "string" ? value : toPlainJson(value);
  return typeof plain === "string" ? plain : JSON.stringify(plain);
}

function codesOf(failures: readonly RecordedFailure[]): string {
  return [...new Set(failures.map(({ code }) => ErrorCode[code] ?? ""))].join(" ");
}
