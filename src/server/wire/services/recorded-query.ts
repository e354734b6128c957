/**
 * The methods of QueryService about queries that ran: their spans, the rows of their steps, and
 * what their resolvers printed. Runs of other environments are not found.
 */

import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  GetQueryRunLogResponseSchema,
  GetQueryRunStageRowsResponseSchema,
  GetQueryRunStagesResponseSchema,
  GetTraceResponseSchema,
  type QueryService,
  TraceSpanKind,
} from "../../../../gen/svc/v1/query_pb.ts";
import { msToDuration, msToTimestamp } from "../../../domain/proto-time.ts";
import { toProtoValue } from "../../../domain/proto-value.ts";
import { serviceOfSpan } from "../../../domain/span-attributes.ts";
import { resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import { linesOfOperation } from "../../logs/reading.ts";
import { readStage } from "../../query-log/stages.ts";
import type { SpanKind, SpanRecord, StageRecord } from "../../stores/telemetry/store.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { pageToken, readPageToken } from "./page-token.ts";

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;

const KINDS: Readonly<Record<SpanKind, TraceSpanKind>> = {
  gateway: TraceSpanKind.GATEWAY,
  plan: TraceSpanKind.PLAN,
  op: TraceSpanKind.OP,
  worker: TraceSpanKind.WORKER,
  sql: TraceSpanKind.SQL,
  store: TraceSpanKind.STORE,
  app: TraceSpanKind.APP,
  delivery: TraceSpanKind.DELIVERY,
  job: TraceSpanKind.JOB,
};

/** The methods. */
export function queryRunMethods(
  platform: Platform,
): Pick<ServiceImpl<typeof QueryService>, "getTrace" | "getQueryRunStages" | "getQueryRunStageRows" | "getQueryRunLog"> {
  const { environments, keys, objects } = platform;

  const environmentOf = async (context: HandlerContext): Promise<string> =>
    (await resolveScope(environments, callerOf(context), context.requestHeader)).environment.id;

  const stagesOf = async (queryId: string, context: HandlerContext): Promise<StageRecord[]> => {
    const environmentId = await environmentOf(context);
    const stages = (await (await platform.telemetry()).stages(queryId)).filter((stage) => stage.environmentId === environmentId);
    if (stages.length > 0) return stages;
    throw new Failure("not_found", `The query run '${queryId}' has no stages.`, {
      hint: "They are kept for queries with --store-plan-stages, as long as the run is.",
    });
  };

  return {
    async getTrace({ trace }, context) {
      const environmentId = await environmentOf(context);
      if (trace.case === undefined || trace.value === "") throw new Failure("invalid_argument", "Give the id of a trace or of a query.");
      const filter = trace.case === "traceId" ? { traceId: trace.value.toLowerCase() } : { queryId: trace.value };
      const spans = (await (await platform.telemetry()).spans(filter)).filter((span) => span.environmentId === environmentId);
      if (spans.length > 0) return create(GetTraceResponseSchema, { spans: spans.map(spanMessage) });
      const what = trace.case === "traceId" ? `trace '${trace.value}'` : `trace of the query '${trace.value}'`;
      throw new Failure("not_found", `There is no ${what}.`, {
        hint: "Spans are kept for queries with --trace, as long as `svc infra describe metrics` says.",
      });
    },

    async getQueryRunStages({ queryId }, context) {
      return create(GetQueryRunStagesResponseSchema, {
        stages: (await stagesOf(queryId, context)).map(({ stage, kind, provider, path, rows, columns, omitted }) => ({
          stage,
          kind,
          provider,
          path,
          rows,
          columns: [...columns],
          omitted,
        })),
      });
    },

    async getQueryRunStageRows({ queryId, stage: wanted, pageSize, pageToken: token }, context) {
      const stages = await stagesOf(queryId, context);
      const stage = stages.find((one) => one.stage === wanted);
      if (!stage)
        throw new Failure("not_found", `The query run '${queryId}' has no stage ${wanted}.`, {
          hint: stages.length === 1 ? "It has stage 0." : `It has the stages 0 to ${stages.length - 1}.`,
        });
      const filter = `${queryId}/${wanted}`;
      const from = token === "" ? 0 : Number(readPageToken(keys.objects, filter, token));
      const to = from + Math.min(pageSize > 0 ? pageSize : DEFAULT_PAGE, MAX_PAGE);
      const { rows, types } = await readStage(objects, stage, from, to);
      return create(GetQueryRunStageRowsResponseSchema, {
        rows: rows.map(({ row, values, errors }) => ({ row, values: values.map((value, at) => toProtoValue(value, types[at])), errors })),
        nextPageToken: stage.sha256 !== "" && to < stage.rows ? pageToken(keys.objects, filter, String(to)) : "",
      });
    },

    async getQueryRunLog({ queryId, limit }, context) {
      const environmentId = await environmentOf(context);
      if (queryId === "") throw new Failure("invalid_argument", "Give the id of a query.");
      const most = Math.min(limit > 0 ? limit : DEFAULT_PAGE, MAX_PAGE);
      const lines = await linesOfOperation(await platform.logs(), environmentId, queryId, most);
      return create(GetQueryRunLogResponseSchema, {
        lines: lines.map(({ at, level, logger, resolver, message }) => ({
          time: msToTimestamp(at / 1_000),
          level,
          logger,
          resolver,
          text: message,
        })),
      });
    },
  };
}

/** A span as a message. */
export function spanMessage({ kind, startedAt, durationMs, attributes, ...span }: SpanRecord) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    kind: KINDS[kind],
    name: span.name,
    startTime: msToTimestamp(startedAt),
    duration: msToDuration(durationMs),
    error: span.error,
    attributes: { ...attributes },
    queryId: span.queryId,
    deploymentId: span.deploymentId,
    serviceName: serviceOfSpan(kind),
  };
}
