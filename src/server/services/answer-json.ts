/**
 * Answers as the JSON query API has them. That of a query for one row is written as text, of which the shape of the query gives a part; objects for every
 * field would cost as much as the rest of a query does.
 */

import { ErrorCategory, ErrorCode, type ExceptionInfo } from "../../../gen/svc/v1/error_pb.ts";
import type { DataType } from "../../../gen/svc/v1/value_pb.ts";
import { outputToJson, typeToJson } from "../../domain/output-json.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import { type FeatureValue, type JsonForm, toPlainJson } from "../../domain/value.ts";
import { type Answer, type AnswerField, type AnswerHead, typedOutputs } from "../query/answer/answer.ts";
import type { BulkAnswer } from "../query/bulk.ts";
import type { QueryBody } from "./query-body.ts";

/** What of a query an answer depends on. */
export type Asked = Pick<QueryBody, "form"> & { readonly ask: Pick<QueryBody["ask"], "explain" | "includeMeta" | "storePlanStages"> };

/** What is told of an error. */
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
export function answerToText(answer: Answer, { ask, form }: Asked): string {
  const { fields, failures } = answer;
  const { begins, types } = shapeOf(answer);
  const errors = new Map(
    failures.map((failure) => [failure, JSON.stringify(errorToJson({ ...failure, category: ErrorCategory.FIELD, feature: failure.path }))]),
  );
  const now = formatMicros(answer.nowMicros);
  let latest = { at: Number(answer.nowMicros) / 1000, text: now };
  const timeText = (at: number): string => {
    if (at !== latest.at) latest = { at, text: formatMicros(BigInt(Math.round(at * 1000))) };
    return latest.text;
  };
  let latestKey: { readonly of: AnswerField["key"]; readonly text: string } = { of: undefined, text: "" };
  const keyText = (key: AnswerField["key"]): string => {
    if (key !== latestKey.of) latestKey = { of: key, text: key ? `,"pkey":${valueText(key.value, key.feature.dtype, false, form)}` : "" };
    return latestKey.text;
  };
  let data = "";
  for (let i = 0; i < fields.length; i++) {
    const { value, feature, isTable, key, observedAt, failure, resolver, hit } = fields[i] as AnswerField;
    const time = observedAt === undefined ? now : timeText(observedAt);
    data += `${begins[i]}${valueText(value, feature.dtype, isTable, form)}${keyText(key)},"ts":"${time}"`;
    if (failure) data += `,"error":${errors.get(failure)}`;
    if (ask.includeMeta)
      data += `,"meta":${JSON.stringify({ chosen_resolver_fqn: resolver, cache_hit: hit, primitive_type: feature.typeName, version: 1 })}`;
    data += "}";
  }
  const told = errors.size > 0 ? `,"errors":[${[...errors.values()].join(",")}]` : "";
  const [before, after] = metaAround(answer, ask, now).map((part) => JSON.stringify(part).slice(1, -1)) as [string, string];
  return `{"data":[${data}]${told},"meta":{${before},"types":${types}${after && `,${after}`}}}`;
}

function valueText(value: FeatureValue, type: DataType, isTable: boolean, form: JsonForm): string {
  const { case: kind } = type.kind;
  const plain =
    kind === "primitive" || kind === "enum" ? toPlainJson(value, type, form) : outputToJson([value], { type, isTable }, form)[0];
  return JSON.stringify(plain);
}

/** What the answers to queries of one shape have in common. */
interface AnswerShape {
  /** Each field up to its value; that of the second and later ones begins with a comma. */
  readonly begins: readonly string[];
  /** `meta.types`. */
  readonly types: string;
}

const shapes = new WeakMap<Answer["outputs"], AnswerShape>();

function shapeOf({ outputs, fields }: Answer): AnswerShape {
  let known = shapes.get(outputs);
  if (!known) {
    known = {
      begins: fields.map(({ path }, at) => `${at > 0 ? "," : ""}{"field":${JSON.stringify(path)},"value":`),
      types: JSON.stringify(typesToJson(fields)),
    };
    shapes.set(outputs, known);
  }
  return known;
}

function typesToJson(outputs: readonly Pick<AnswerField, "path" | "feature">[]): Record<string, unknown> {
  return Object.fromEntries(typedOutputs(outputs).map(({ path, feature }) => [path, typeToJson(feature.dtype)]));
}

/** What `meta` has before and after the types. */
function metaAround(answer: AnswerHead, ask: Asked["ask"], now: string): [Record<string, unknown>, Record<string, unknown>] {
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
      explain_output: ask.explain ? answer.explanation : undefined,
      trace_id: answer.traceId || undefined,
      plan_stages: ask.storePlanStages ? answer.stages.length : undefined,
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
export function bulkAnswerToJson(answer: BulkAnswer, { ask, form }: Asked): BulkJson {
  const { columns, failures, rows } = answer;
  const [before, after] = metaAround(answer, ask, formatMicros(answer.nowMicros));
  return {
    data: Object.fromEntries(
      columns.map(({ path, feature, isTable, values }) => [path, outputToJson(values, { type: feature.dtype, isTable }, form)]),
    ),
    ...(ask.includeMeta ? { hits: Object.fromEntries(columns.map(({ path, hits }) => [path, hits])) } : {}),
    ...(failures.length > 0 ? { errors: failures.map((failure) => ({ row: failure.row, ...errorToJson(failure) })) } : {}),
    meta: { rows, ...before, types: typesToJson(columns), ...after },
  };
}
