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
import type { SpanKind, SpanRecord, StageRecord, TelemetryStore } from "../../stores/telemetry/store.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { pageToken, readPlace, recordsOf } from "./page-token.ts";

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
      const spans = await spansOfTrace(await platform.telemetry(), environmentId, trace);
      return create(GetTraceResponseSchema, { spans: spans.map(spanMessage) });
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
      const from = readPlace(keys.objects, filter, token) ?? 0;
      const to = from + recordsOf(pageSize);
      const { rows, types } = await readStage(objects, stage, from, to);
      return create(GetQueryRunStageRowsResponseSchema, {
        rows: rows.map(({ row, values, errors }) => ({ row, values: values.map((value, at) => toProtoValue(value, types[at])), errors })),
        nextPageToken: stage.sha256 !== "" && to < stage.rows ? pageToken(keys.objects, filter, String(to)) : "",
      });
    },

    async getQueryRunLog({ queryId, limit }, context) {
      const environmentId = await environmentOf(context);
      if (queryId === "") throw new Failure("invalid_argument", "Give the id of a query.");
      const most = recordsOf(limit);
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

/** A trace, or the operation whose trace is meant, as a request names it. */
interface NamedTrace {
  readonly case: "traceId" | "queryId" | "operationId" | undefined;
  readonly value?: string | undefined;
}

/** The spans of a trace or an operation in an environment, at least one. Throws Failure. */
export async function spansOfTrace(
  store: Pick<TelemetryStore, "spans">,
  environmentId: string,
  named: NamedTrace,
): Promise<[SpanRecord, ...SpanRecord[]]> {
  const { case: by, value = "" } = named;
  if (by === undefined || value === "") throw new Failure("invalid_argument", "Give the id of a trace or of an operation.");
  const found = await store.spans(by === "traceId" ? { traceId: value.toLowerCase() } : { queryId: value });
  const [first, ...others] = found.filter((span) => span.environmentId === environmentId);
  if (!first) throw noTrace(named);
  return [first, ...others];
}

/** The refusal of a trace that there is not. */
export function noTrace({ case: by, value }: NamedTrace): Failure {
  return new Failure("not_found", `There is no trace ${by === "traceId" ? "" : "of "}'${value}'.`, {
    hint: "Spans are kept of what asks for it (`svc query --trace`), of sampled callers, and of one operation in a hundred.",
  });
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
