/** The JSON query API, `POST /v1/query/online`: from the request's JSON to the engine to the response's JSON, with no messages in between. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { ErrorCategory, ErrorCode, type ErrorDetailSchema, type ExceptionInfo } from "../../../gen/svc/v1/error_pb.ts";
import { type QueryRequest, QueryRequestSchema } from "../../../gen/svc/v1/query_pb.ts";
import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { microsToTimestamp, msToDuration } from "../../domain/proto-time.ts";
import { toProtoValue } from "../../domain/proto-value.ts";
import { formatTimestamp } from "../../domain/timestamp.ts";
import { type FeatureValue, toPlainJson } from "../../domain/value.ts";
import { type Answer, type AnswerField, answerToProto } from "../query/answer.ts";
import type { OnlineEngine } from "../query/create-engine.ts";
import type { LiveDeployment, QueryRecord } from "../query/engine.ts";
import { QueryRefused } from "../query/refusal.ts";
import { BodyInvalid, type QueryBody, readQueryBody } from "./query-body.ts";

/** Longest body, in bytes. */
export const MAX_QUERY_BYTES = 8 * 1024 * 1024;

/** Which deployment a query asks; names or ids, empty = not said. */
export interface QueryScope {
  readonly environment: string;
  readonly branch: string;
  readonly deployment: string;
}

/** A deployment that stays up until it is released. */
export interface DeploymentLease {
  readonly deployment: LiveDeployment;
  release(): void;
}

/** What the JSON query API works with. `Auth` is whatever the router knows of the caller. */
export interface QueryHttpDeps<Auth> {
  readonly engine: OnlineEngine;
  readonly clock: Clock;
  /** The deployment of a scope; what it throws is the router's to answer. */
  resolveDeployment(scope: QueryScope, auth: Auth): DeploymentLease | Promise<DeploymentLease>;
  /** Keeps a query that was run or refused. The record's messages are made when they are read. */
  recordQuery(record: QueryRecord, auth: Auth): void;
}

/** Makes the handler of `POST /v1/query/online`. The caller has been authenticated and has the body's length checked, or the body read, by then. */
export function createQueryHttp<Auth>(deps: QueryHttpDeps<Auth>): (request: Request, auth: Auth) => Promise<Response> {
  return async (request, auth) => {
    if (request.method !== "POST")
      return refuse([requestError(ErrorCode.INVALID_QUERY, `use POST, not ${request.method}`)], 405, { allow: "POST" });
    let body: QueryBody;
    try {
      body = readQueryBody(await request.text());
    } catch (error) {
      if (error instanceof BodyInvalid) return refuse([requestError(ErrorCode.PARSE_FAILED, error.message)], 400);
      throw error;
    }
    const { headers } = request;
    const lease = await deps.resolveDeployment(
      {
        environment: body.environment || (headers.get("svc-environment") ?? ""),
        branch: headers.get("svc-branch") ?? "",
        deployment: body.deploymentId || (headers.get("svc-deployment") ?? ""),
      },
      auth,
    );
    const arrival = deps.clock.now();
    const started = performance.now();
    try {
      const running = deps.engine.answer(lease.deployment, body.ask, arrival, request.signal);
      const answer = running instanceof Promise ? await running : running;
      deps.recordQuery(answeredRecord(body, answer, arrival), auth);
      return new Response(JSON.stringify(answerToJson(answer, body)), { headers: JSON_HEADERS });
    } catch (error) {
      const durationMs = performance.now() - started;
      deps.recordQuery(failedRecord(body, lease.deployment, arrival, durationMs, error), auth);
      if (error instanceof QueryRefused) return refuse(error.errors, 400);
      throw error;
    } finally {
      lease.release();
    }
  };
}

const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff" };

interface JsonError {
  readonly code?: ErrorCode | undefined;
  readonly category?: ErrorCategory | undefined;
  readonly message?: string | undefined;
  readonly feature?: string | undefined;
  readonly resolver?: string | undefined;
  readonly exception?: Partial<ExceptionInfo> | undefined;
}

function refuse(
  errors: readonly MessageInitShape<typeof ErrorDetailSchema>[],
  status: number,
  headers: Record<string, string> = {},
): Response {
  const text = JSON.stringify({ data: [], errors: errors.map((error) => errorToJson(error as JsonError)) });
  return new Response(text, { status, headers: { ...JSON_HEADERS, ...headers } });
}

function requestError(code: ErrorCode, message: string): JsonError & MessageInitShape<typeof ErrorDetailSchema> {
  return { code, category: ErrorCategory.REQUEST, message };
}

function errorToJson(error: JsonError): Record<string, unknown> {
  const json: Record<string, unknown> = {
    code: ErrorCode[error.code ?? ErrorCode.UNSPECIFIED],
    category: ErrorCategory[error.category ?? ErrorCategory.UNSPECIFIED],
    message: error.message,
  };
  if (error.exception) {
    const { kind, message, stacktrace, file, line } = error.exception;
    json.exception = { kind, message, stacktrace, ...(file ? { file, line } : {}) };
  }
  if (error.feature) json.feature = error.feature;
  if (error.resolver) json.resolver = error.resolver;
  return json;
}

function answerToJson(answer: Answer, body: QueryBody): Record<string, unknown> {
  const errors = new Map(
    answer.failures.map((failure) => [failure, errorToJson({ ...failure, category: ErrorCategory.FIELD, feature: failure.path })]),
  );
  const nowMs = Number(answer.nowMicros) / 1000;
  const now = formatTimestamp(nowMs);
  const field = (one: AnswerField): Record<string, unknown> => {
    const json: Record<string, unknown> = { field: one.path, value: plain(one.value, one.feature.dtype, body) };
    if (one.key) json.pkey = plain(one.key.value, one.key.feature.dtype, body);
    json.ts = one.observedAt === undefined || one.observedAt === nowMs ? now : formatTimestamp(one.observedAt);
    if (one.failure) json.error = errors.get(one.failure);
    if (body.ask.includeMeta)
      json.meta = { chosen_resolver_fqn: one.resolver, cache_hit: one.hit, primitive_type: one.feature.typeName, version: 1 };
    return json;
  };
  const { deployment } = answer;
  return {
    data: answer.fields.map(field),
    ...(errors.size > 0 ? { errors: [...errors.values()] } : {}),
    meta: {
      execution_duration_s: Math.round(answer.durationMs * 1000) / 1e6,
      deployment_id: deployment.id,
      environment_id: deployment.environmentId,
      environment_name: deployment.environmentName,
      query_id: answer.queryId,
      query_timestamp: now,
      query_hash: answer.queryHash,
      ...(answer.inferred.length > 0 ? { inferred_outputs: answer.inferred } : {}),
      ...(body.ask.explain ? { explain_output: answer.explanation } : {}),
    },
  };
}

/** A value as plain JSON; the common kinds are that already. */
function plain(value: FeatureValue, type: DataType, body: QueryBody): unknown {
  if (value === null || typeof value === "boolean") return value;
  if (!body.structsAsObjects) return toPlainJson(flatten(value, type));
  return toPlainJson(value, type);
}

/** A value in plain form whose structs are lists of their fields' values, in order. */
function flatten(value: FeatureValue, type: DataType | undefined): FeatureValue {
  if (
    value !== null &&
    type?.kind.case === "struct" &&
    typeof value === "object" &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  ) {
    const given = value;
    return type.kind.value.fields.map((one) => flatten(given[one.name] ?? null, one.dtype));
  }
  if (Array.isArray(value)) {
    const element = type?.kind.case === "list" ? type.kind.value.element : undefined;
    return value.map((item) => flatten(item, element));
  }
  return toPlainJson(value, type) as FeatureValue;
}

function answeredRecord(body: QueryBody, answer: Answer, startedAt: number): QueryRecord {
  return {
    queryId: answer.queryId,
    deploymentId: answer.deployment.id,
    startedAt,
    durationMs: answer.durationMs,
    get request() {
      return requestMessage(body);
    },
    get response() {
      return answerToProto(answer, true);
    },
  };
}

function failedRecord(body: QueryBody, deployment: LiveDeployment, startedAt: number, durationMs: number, error: unknown): QueryRecord {
  return {
    queryId: Bun.randomUUIDv7("hex", Math.floor(startedAt)),
    deploymentId: deployment.id,
    startedAt,
    durationMs,
    get request() {
      return requestMessage(body);
    },
    error: error instanceof Error ? error.message : String(error),
  };
}

/** The query as the message that the other door would have been sent. */
function requestMessage({ ask, deploymentId, meta }: QueryBody): QueryRequest {
  return create(QueryRequestSchema, {
    inputs: ask.inputs.map(({ name, value }) => ({
      feature: name,
      value: { case: "typed" as const, value: toProtoValue(value as FeatureValue) },
    })),
    outputs: [...ask.outputs],
    staleness: Object.fromEntries(Object.entries(ask.staleness).map(([name, ms]) => [name, msToDuration(ms)])),
    tags: [...ask.tags],
    queryContext: Object.fromEntries(Object.entries(ask.queryContext).map(([name, value]) => [name, toProtoValue(value)])),
    queryName: ask.queryName,
    queryNameVersion: ask.queryNameVersion,
    correlationId: ask.correlationId,
    ...(ask.now === undefined ? {} : { now: microsToTimestamp(ask.now) }),
    plannerOptions: { ...ask.plannerOptions },
    explain: ask.explain,
    includeMeta: ask.includeMeta,
    deploymentId,
    meta: { ...meta },
  });
}
