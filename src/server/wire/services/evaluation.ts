/** EvaluationService: functions that are called for each row of a dataset, and scored. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  CancelEvaluationRunResponseSchema,
  CompareEvaluationRunsResponseSchema,
  type EvaluationInfo,
  EvaluationInfoSchema,
  type EvaluationRun,
  EvaluationRunSchema,
  EvaluationRunState,
  EvaluationService,
  GetEvaluationResponseSchema,
  GetEvaluationRunResponseSchema,
  ListEvaluationRunsResponseSchema,
  ListEvaluationsResponseSchema,
  TriggerEvaluationResponseSchema,
} from "../../../../gen/svc/v1/evaluation_pb.ts";
import { isJsonObject, type JsonObject } from "../../../domain/json-value.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import { evaluationId, type FoundEvaluation } from "../../evaluations/evaluations.ts";
import { Failure } from "../../failure.ts";
import type { EvaluationRunRecord, ScoreRecord, StoredEvaluationRunState } from "../../stores/metadata/evaluations.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { readPage } from "./page-token.ts";

const STATES = {
  received: EvaluationRunState.RECEIVED,
  running: EvaluationRunState.RUNNING,
  succeeded: EvaluationRunState.SUCCEEDED,
  failed: EvaluationRunState.FAILED,
  cancelled: EvaluationRunState.CANCELLED,
} as const satisfies Record<StoredEvaluationRunState, EvaluationRunState>;

const MAX_COMPARED_ROWS = 500;
const COMPARED_ROWS = 20;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const scopeOf = async (context: HandlerContext): Promise<DeploymentTarget> =>
    resolveScope(platform.environments, callerOf(context), context.requestHeader);
  const runMessage = (run: EvaluationRunRecord, { requestHeader }: HandlerContext): EvaluationRun => {
    const { environmentId, evaluationName, id } = run;
    return messageOf(run, pageAddress(platform, requestHeader, environmentId, "evalRun", { name: evaluationName, id }));
  };
  const shown = ({ id, evaluation, latestScored }: FoundEvaluation, environmentId: string, context: HandlerContext): EvaluationInfo =>
    create(EvaluationInfoSchema, {
      ...{ id, evaluation, url: pageAddress(platform, context.requestHeader, environmentId, "eval", { name: evaluation.name }) },
      ...(latestScored && { latestScored: runMessage(latestScored, context) }),
    });

  router.service(EvaluationService, {
    async listEvaluations(page, context) {
      const target = await scopeOf(context);
      const evaluations = await platform.evaluations();
      const filter = JSON.stringify(["evaluations", target.environment.id, target.branch, target.deploymentId]);
      const { items, nextPageToken } = await readPage(platform.keys.objects, filter, page, (limit, after) =>
        evaluations.list(target, limit, after),
      );
      return create(ListEvaluationsResponseSchema, {
        evaluations: items.map((item) => shown(item, target.environment.id, context)),
        nextPageToken,
      });
    },

    async getEvaluation({ id }, context) {
      const target = await scopeOf(context);
      const evaluations = await platform.evaluations();
      const found = await evaluations.find(target, id);
      return create(GetEvaluationResponseSchema, {
        evaluation: shown(found, target.environment.id, context),
        revisionId: await evaluations.revisionOf(target.environment.id, found.evaluation),
      });
    },

    async triggerEvaluation({ id, metadataJson }, context) {
      const target = await scopeOf(context);
      const { clientId } = callerOf(context);
      const run = await (await platform.evaluations()).trigger(target, id, metadataOf(metadataJson), clientId);
      return create(TriggerEvaluationResponseSchema, { run: runMessage(run, context) });
    },

    async listEvaluationRuns({ evaluation, states, pageSize, pageToken }, context) {
      const { environment } = await scopeOf(context);
      const evaluations = await platform.evaluations();
      const wanted = (Object.keys(STATES) as StoredEvaluationRunState[]).filter((state) => states.includes(STATES[state]));
      const of = evaluation === "" || evaluation.startsWith("evl_") ? evaluation : evaluationId(environment.id, evaluation);
      const filter = JSON.stringify(["evaluation-runs", environment.id, of, wanted]);
      const page = await readPage(platform.keys.objects, filter, { pageSize, pageToken }, (limit, before) =>
        evaluations.runs({
          ...{ environmentId: environment.id, evaluationId: of || undefined, limit, before },
          ...(wanted.length > 0 && { states: wanted }),
        }),
      );
      return create(ListEvaluationRunsResponseSchema, {
        runs: page.items.map((run) => runMessage(run, context)),
        nextPageToken: page.nextPageToken,
      });
    },

    async getEvaluationRun({ id }, context) {
      const { environment } = await scopeOf(context);
      return create(GetEvaluationRunResponseSchema, {
        run: runMessage(await (await platform.evaluations()).run(id, environment.id), context),
      });
    },

    async cancelEvaluationRun({ id }, context) {
      const { environment } = await scopeOf(context);
      return create(CancelEvaluationRunResponseSchema, {
        run: runMessage(await (await platform.evaluations()).cancel(id, environment.id), context),
      });
    },

    async compareEvaluationRuns({ baseId, otherId, limit }, context) {
      if (limit < 0 || limit > MAX_COMPARED_ROWS)
        throw new Failure("invalid_argument", `A comparison shows 0 to ${MAX_COMPARED_ROWS} rows, not ${limit}.`);
      const { environment } = await scopeOf(context);
      const evaluations = await platform.evaluations();
      const base = await evaluations.run(baseId, environment.id);
      const other = await evaluations.run(otherId, environment.id);
      const { scorers, rows, truncated, rowsInBoth } = await evaluations.compare(base, other, limit || COMPARED_ROWS, context.signal);
      return create(CompareEvaluationRunsResponseSchema, {
        ...{ base: runMessage(base, context), other: runMessage(other, context), truncated, rowsInBoth: BigInt(rowsInBoth) },
        scorers: scorers.map(({ scorer, count, higher, lower, mean }) => ({
          ...{ scorer, count: BigInt(count), higher: BigInt(higher), lower: BigInt(lower) },
          ...(mean !== undefined && { meanDifference: mean }),
        })),
        rows: [...rows],
      });
    },
  });
}

function messageOf(run: EvaluationRunRecord, url: string): EvaluationRun {
  const { id, evaluationName, dataset, revisionId, deploymentId, branch, attempts, error, resultRevisionId, averageScore } = run;
  const { firstFailure, startedAt, endedAt } = run;
  return create(EvaluationRunSchema, {
    ...{ id, evaluationId: run.evaluationId, evaluationName, dataset, revisionId, deploymentId, branch, attempts, error, resultRevisionId },
    ...{ url, state: STATES[run.state], metadataJson: Object.keys(run.metadata).length === 0 ? "" : JSON.stringify(run.metadata) },
    ...{ rows: BigInt(run.rows), rowsDone: BigInt(run.rowsDone), rowsFailed: BigInt(run.rowsFailed) },
    scores: run.scores.map(scoreMessage),
    ...(firstFailure && { firstFailure: { ...firstFailure, row: BigInt(firstFailure.row) } }),
    ...(averageScore !== undefined && { averageScore }),
    createdAt: msToTimestamp(run.createdAt),
    ...(startedAt !== undefined && { startedAt: msToTimestamp(startedAt) }),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
  });
}

function scoreMessage({ scorer, count, errors, mean, p50, p90, p99 }: ScoreRecord) {
  return {
    ...{ scorer, count: BigInt(count), errors: BigInt(errors) },
    ...(mean !== undefined && { mean }),
    ...(p50 !== undefined && { p50 }),
    ...(p90 !== undefined && { p90 }),
    ...(p99 !== undefined && { p99 }),
  };
}

/** The metadata of a run. Throws Failure for what is no JSON object. */
function metadataOf(text: string): JsonObject {
  if (text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // told below
  }
  throw new Failure("invalid_argument", "The metadata of a run is a JSON object.", { hint: `For example: {"commit": "4f5a7b3"}` });
}
