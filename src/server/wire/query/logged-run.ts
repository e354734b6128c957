/**
 * Runs in the query log, read back as messages when they are shown: the log holds requests and
 * answers unchanged, in the encoding of their endpoint.
 */

import { create, fromBinary } from "@bufbuild/protobuf";
import { ErrorCategory, ErrorCode, type ErrorDetail, ErrorDetailSchema } from "../../../../gen/svc/v1/error_pb.ts";
import {
  FeatureMetaSchema,
  FeatureResultSchema,
  type QueryRequest,
  QueryRequestSchema,
  type QueryResponse,
  QueryResponseSchema,
} from "../../../../gen/svc/v1/query_pb.ts";
import { microsToTimestamp, msToDuration } from "../../../domain/proto-time.ts";
import { toProtoValue } from "../../../domain/proto-value.ts";
import { parseInstant } from "../../../domain/timestamp.ts";
import { type FeatureValue, parseExactJson } from "../../../domain/value.ts";
import type { Body, QueryLogEntry } from "../../stores/telemetry/store.ts";
import { type QueryBody, readQueryBody } from "./query-body.ts";

/**
 * A request and its answer. Each field of the response says where it came from, even if the query
 * did not ask for that.
 */
export interface QueryRun {
  readonly request: QueryRequest;
  /** Absent when the query was refused or the server failed. */
  readonly response?: QueryResponse;
}

/**
 * Whether a run is of a bulk query. The log keeps neither inputs nor values of those, while a query
 * for one row has inputs or values.
 */
export function isBulkRun({ request, response }: QueryRun): boolean {
  return response !== undefined && request.inputs.length === 0 && response.data.length === 0;
}

/** Reads an entry of the log. */
export function readQueryRun({
  encoding,
  request,
  response,
  origins,
}: Pick<QueryLogEntry, "encoding" | "request" | "response" | "origins">): QueryRun {
  if (encoding === "json") {
    const body = requestMessage(readQueryBody(bytesOf(request)).body);
    return response === undefined
      ? { request: body }
      : { request: body, response: withOrigins(responseMessage(textOf(response)), origins) };
  }
  const message = fromBinary(QueryRequestSchema, bytesOf(request));
  if (response === undefined) return { request: message };
  return { request: message, response: withOrigins(fromBinary(QueryResponseSchema, bytesOf(response)), origins) };
}

function withOrigins(response: QueryResponse, origins: string): QueryResponse {
  for (const [index, line] of origins.trimEnd().split("\n").entries()) {
    const result = response.data[index];
    if (!result || result.meta) continue;
    const cacheHit = line.startsWith("+");
    result.meta = create(FeatureMetaSchema, { cacheHit, chosenResolverFqn: cacheHit ? line.slice(1) : line });
  }
  return response;
}

function textOf(body: Body): string {
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}

function bytesOf(body: Body): Uint8Array {
  return typeof body === "string" ? new TextEncoder().encode(body) : body;
}

/** A query of the JSON API as the message that QueryService would have received. */
function requestMessage({ request, deploymentId, meta }: QueryBody): QueryRequest {
  return create(QueryRequestSchema, {
    inputs: request.inputs.map(({ name, value }) => ({
      feature: name,
      value: { case: "typed" as const, value: toProtoValue(value as FeatureValue) },
    })),
    outputs: [...request.outputs],
    staleness: Object.fromEntries(Object.entries(request.staleness).map(([name, ms]) => [name, msToDuration(ms)])),
    tags: [...request.tags],
    queryContext: Object.fromEntries(Object.entries(request.queryContext).map(([name, value]) => [name, toProtoValue(value)])),
    queryName: request.queryName,
    queryNameVersion: request.queryNameVersion,
    correlationId: request.correlationId,
    ...(request.now === undefined ? {} : { now: microsToTimestamp(request.now) }),
    plannerOptions: { ...request.plannerOptions },
    explain: request.explain,
    includeMeta: request.includeMeta,
    trace: request.trace,
    storePlanStages: request.storePlanStages,
    deploymentId,
    meta: { ...meta },
  });
}

/** An answer of the JSON API, as far as a run shows it. */
interface JsonAnswer {
  readonly data: readonly {
    readonly field: string;
    readonly value: FeatureValue;
    readonly pkey?: FeatureValue;
    readonly ts: string;
    readonly error?: JsonError;
  }[];
  readonly errors?: readonly JsonError[];
  readonly meta: {
    readonly deployment_id: string;
    readonly environment_id: string;
    readonly environment_name: string;
    readonly execution_duration_s: number;
    readonly query_id: string;
    readonly query_hash: string;
    readonly trace_id?: string;
    readonly plan_stages?: number;
    readonly query_timestamp: string;
    readonly inferred_outputs?: string[];
    readonly warnings?: string[];
    readonly explain_output?: string;
  };
}

interface JsonError {
  readonly code: keyof typeof ErrorCode;
  readonly category: keyof typeof ErrorCategory;
  readonly message: string;
  readonly feature?: string;
  readonly resolver?: string;
  readonly exception?: {
    readonly kind: string;
    readonly message: string;
    readonly stacktrace: string;
    readonly file?: string;
    readonly line?: number;
  };
}

function responseMessage(text: string): QueryResponse {
  const { data, errors = [], meta } = parseExactJson(text) as JsonAnswer;
  return create(QueryResponseSchema, {
    data: data.map(({ field, value, pkey, ts, error }) =>
      create(FeatureResultSchema, {
        field,
        value: toProtoValue(value),
        ...(pkey === undefined ? {} : { pkey: toProtoValue(pkey) }),
        ...(error ? { error: errorMessage(error) } : { ts: instantOf(ts) }),
      }),
    ),
    errors: errors.map(errorMessage),
    meta: {
      deploymentId: meta.deployment_id,
      environmentId: meta.environment_id,
      environmentName: meta.environment_name,
      executionDuration: msToDuration(meta.execution_duration_s * 1000),
      queryId: meta.query_id,
      queryHash: meta.query_hash,
      traceId: meta.trace_id ?? "",
      planStages: meta.plan_stages ?? 0,
      warnings: meta.warnings ?? [],
      queryTimestamp: instantOf(meta.query_timestamp),
    },
    explainOutput: meta.explain_output ?? "",
    inferredOutputs: meta.inferred_outputs ?? [],
  });
}

function errorMessage({ code, category, ...rest }: JsonError): ErrorDetail {
  return create(ErrorDetailSchema, { ...rest, code: ErrorCode[code], category: ErrorCategory[category] });
}

function instantOf(text: string) {
  const instant = parseInstant(text);
  return instant && microsToTimestamp(instant.micros);
}
