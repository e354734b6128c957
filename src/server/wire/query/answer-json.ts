/** Answers in the form of the JSON query API. */

import { ErrorCategory, ErrorCode, type ExceptionInfo } from "../../../../gen/svc/v1/error_pb.ts";
import type { DataType } from "../../../../gen/svc/v1/value_pb.ts";
import { outputToJson, typeToJson } from "../../../domain/output-json.ts";
import { formatMicros } from "../../../domain/timestamp.ts";
import { type FeatureValue, type JsonForm, toPlainJson } from "../../../domain/value.ts";
import { type Answer, type AnswerField, type AnswerHead, answerWarnings, typedOutputs } from "../../query/answer/answer.ts";
import type { BulkAnswer } from "../../query/bulk.ts";
import type { CellFailure } from "../../query/run/cells.ts";
import type { QueryBody } from "./query-body.ts";

/** The parts of a query that its answer depends on. */
export type AnswerOptions = Pick<QueryBody, "form"> & {
  readonly request: Pick<QueryBody["request"], "explain" | "includeMeta" | "storePlanStages">;
};

/** Facts about an error; those that are absent are not known. */
export interface JsonError {
  readonly code?: ErrorCode | undefined;
  readonly category?: ErrorCategory | undefined;
  readonly message?: string | undefined;
  readonly feature?: string | undefined;
  readonly resolver?: string | undefined;
  readonly exception?: Partial<ExceptionInfo> | undefined;
}

/** An error as JSON. */
export function errorToJson(error: JsonError): Record<string, unknown> {
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

/** The answer to a query for one row, as the text of its JSON. */
export function answerToText(answer: Answer, { request, form }: AnswerOptions): string {
  const errors = new Map<CellFailure, object>();
  for (const failure of answer.failures)
    errors.set(failure, errorToJson({ ...failure, category: ErrorCategory.FIELD, feature: failure.path }));
  const now = formatMicros(answer.nowMicros);
  let latest = { at: Number(answer.nowMicros) / 1000, text: now };
  const timeText = (at: number): string => {
    if (at !== latest.at) latest = { at, text: formatMicros(BigInt(Math.round(at * 1000))) };
    return latest.text;
  };
  let latestKey: { readonly of: AnswerField["key"]; readonly json: unknown } = { of: undefined, json: undefined };
  const keyJson = (key: AnswerField["key"]): unknown => {
    if (key !== latestKey.of) latestKey = { of: key, json: key && plain(key.value, key.feature.dtype, false, form) };
    return latestKey.json;
  };
  const field = ({ path, value, feature, isTable, key, observedAt, failure, resolver, hit }: AnswerField): Record<string, unknown> => {
    const json: Record<string, unknown> = {
      field: path,
      value: plain(value, feature.dtype, isTable, form),
      pkey: keyJson(key),
      ts: observedAt === undefined ? now : timeText(observedAt),
    };
    if (failure) json.error = errors.get(failure);
    if (request.includeMeta)
      json.meta = { chosen_resolver_fqn: resolver, cache_hit: hit, primitive_type: feature.typeName, version: feature.version };
    return json;
  };
  const data = JSON.stringify(answer.fields.map(field));
  const told = errors.size > 0 ? `,"errors":${JSON.stringify([...errors.values()])}` : "";
  answer.shared.warnings ??= answerWarnings(answer.fields);
  const [before, after] = metaAround(answer, answer.shared.warnings, request, now);
  const more = members(after);
  return `{"data":${data}${told},"meta":{${members(before)},"types":${typesText(answer)}${more && `,${more}`}}}`;
}

function plain(value: FeatureValue, type: DataType, isTable: boolean, form: JsonForm): unknown {
  const { case: kind } = type.kind;
  if (kind === "primitive" || kind === "enum") return toPlainJson(value, type, form);
  return outputToJson([value], { type, isTable }, form)[0];
}

/** The members of an object as text, without its braces. */
function members(object: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(object).slice(1, -1);
}

/**
 * The JSON of `meta.types`, kept because it is the same for all queries of a shape and is as long
 * as the rest of the answer.
 */
function typesText({ shared, fields }: Answer): string {
  shared.typesJson ??= JSON.stringify(typesToJson(fields));
  return shared.typesJson;
}

function typesToJson(outputs: readonly Pick<AnswerField, "path" | "feature">[]): Record<string, unknown> {
  return Object.fromEntries(typedOutputs(outputs).map(({ path, feature }) => [path, typeToJson(feature.dtype)]));
}

/** The members of `meta` before and after `types`. */
function metaAround(
  answer: AnswerHead,
  warnings: readonly string[],
  request: AnswerOptions["request"],
  now: string,
): [Record<string, unknown>, Record<string, unknown>] {
  const { deployment } = answer;
  return [
    {
      execution_duration_s: Math.round(answer.durationMs * 1000) / 1e6,
      deployment_id: deployment.id,
      environment_id: deployment.environmentId,
      environment_name: deployment.environmentName,
      query_id: answer.queryId,
      query_timestamp: now,
      query_hash: answer.queryHash,
    },
    {
      inferred_outputs: answer.inferred.length > 0 ? answer.inferred : undefined,
      warnings: warnings.length > 0 ? warnings : undefined,
      explain_output: request.explain ? answer.explanation : undefined,
      trace_id: answer.traceId || undefined,
      plan_stages: request.storePlanStages ? answer.stages.length : undefined,
    },
  ];
}

/** The answer to a bulk query as JSON. */
export interface BulkJson {
  readonly data: Record<string, unknown[]>;
  readonly hits?: Record<string, unknown>;
  readonly errors?: readonly Record<string, unknown>[];
  readonly meta: Record<string, unknown>;
}

/** Makes the JSON of the answer to a bulk query. */
export function bulkAnswerToJson(answer: BulkAnswer, options: AnswerOptions): BulkJson {
  const data = answer.columns.map(
    ({ path, feature, isTable, values }) => [path, outputToJson(values, { type: feature.dtype, isTable }, options.form)] as const,
  );
  return { data: Object.fromEntries(data), ...besideColumns(answer, options) };
}

/** Makes the JSON of all that the answer to a bulk query tells beside the values. */
export function besideColumns(answer: BulkAnswer, { request }: AnswerOptions): Omit<BulkJson, "data"> {
  const { columns, failures, rows } = answer;
  const [before, after] = metaAround(answer, answerWarnings(columns), request, formatMicros(answer.nowMicros));
  return {
    ...(request.includeMeta ? { hits: Object.fromEntries(columns.map(({ path, hits }) => [path, hits])) } : {}),
    ...(failures.length > 0 ? { errors: failures.map((failure) => ({ row: failure.row, ...errorToJson(failure) })) } : {}),
    meta: { rows, ...before, types: typesToJson(columns), ...after },
  };
}
