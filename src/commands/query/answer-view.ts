/** The answer to a query as JSON (the shape of the JSON query API) and as text. */

import { ErrorCategory, ErrorCode, type ErrorDetail } from "../../../gen/svc/v1/error_pb.ts";
import type { FeatureResult, QueryMeta, QueryResponse, TraceSpan } from "../../../gen/svc/v1/query_pb.ts";
import type { DataType, Value } from "../../../gen/svc/v1/value_pb.ts";
import { formatDuration } from "../../domain/duration.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { outputToJson, typeToJson } from "../../domain/output-json.ts";
import { durationToMicros, timestampToMicros } from "../../domain/proto-time.ts";
import { fromProtoValue } from "../../domain/proto-value.ts";
import { formatInstant, formatMicros } from "../../domain/timestamp.ts";
import { plainLength, toPlainJson } from "../../domain/value.ts";
import { visibleLines } from "../../domain/visible.ts";
import type { Style } from "../../output/view.ts";
import { spansJson } from "../trace/waterfall-view.ts";

/** The format of names in JSON. */
export type NameFormat = (name: string) => string;

/** The answer in the form of the JSON query API, with the spans of a traced query in `meta`. */
export function answerJson(response: QueryResponse, name: NameFormat, spans: readonly TraceSpan[]): Record<string, unknown> {
  return {
    data: response.data.map((result) => resultJson(result, response, name)),
    errors: response.errors.length > 0 ? response.errors.map((error) => errorJson(error, name)) : undefined,
    meta: response.meta && metaJson(response, name, spans),
  };
}

/** The metadata of a query in the form of the JSON query API. */
export function metaJson(
  { meta, inferredOutputs, explainOutput }: Pick<QueryResponse, "meta" | "inferredOutputs" | "explainOutput">,
  name: NameFormat,
  spans: readonly TraceSpan[],
): Record<string, unknown> {
  return {
    execution_duration_s: meta?.executionDuration ? Number(durationToMicros(meta.executionDuration)) / 1e6 : undefined,
    deployment_id: meta?.deploymentId,
    environment_id: meta?.environmentId,
    environment_name: meta?.environmentName,
    query_id: meta?.queryId,
    query_timestamp: meta?.queryTimestamp ? formatMicros(timestampToMicros(meta.queryTimestamp)) : undefined,
    query_hash: meta?.queryHash,
    types: meta && Object.fromEntries(Object.entries(meta.types).map(([field, type]) => [name(field), typeToJson(type)])),
    inferred_outputs: inferredOutputs.length > 0 ? inferredOutputs.map(name) : undefined,
    warnings: meta && meta.warnings.length > 0 ? meta.warnings : undefined,
    explain_output: explainOutput || undefined,
    trace_id: meta?.traceId || undefined,
    spans: spans.length > 0 ? spansJson(spans) : undefined,
    plan_stages: meta?.planStages || undefined,
  };
}

function resultJson(result: FeatureResult, { meta }: QueryResponse, name: NameFormat): Record<string, unknown> {
  const observed = result.ts ?? meta?.queryTimestamp;
  return {
    field: name(result.field),
    value: valuesJson([result.value], meta?.types[result.field])[0],
    pkey: result.pkey ? valueJson(result.pkey) : undefined,
    ts: observed ? formatMicros(timestampToMicros(observed)) : null,
    error: result.error ? errorJson(result.error, name) : undefined,
    meta: result.meta && {
      chosen_resolver_fqn: result.meta.chosenResolverFqn,
      cache_hit: result.meta.cacheHit,
      primitive_type: result.meta.primitiveType || undefined,
      version: result.meta.version,
    },
  };
}

/** An error in the form of the JSON query API. */
export function errorJson(error: ErrorDetail, name: NameFormat): Record<string, unknown> {
  const { exception } = error;
  return {
    code: ErrorCode[error.code],
    category: ErrorCategory[error.category],
    message: error.message,
    exception: exception && {
      kind: exception.kind,
      message: exception.message,
      stacktrace: exception.stacktrace,
      file: exception.file || undefined,
      line: exception.line || undefined,
    },
    feature: error.feature ? name(error.feature) : undefined,
    resolver: error.resolver || undefined,
  };
}

/** The values of an output as plain JSON, converted by its type when that is known. */
export function valuesJson(values: readonly (Value | undefined)[], type: DataType | undefined): unknown[] {
  if (!type) return values.map(valueJson);
  return outputToJson(
    values.map((value) => (value ? fromProtoValue(value) : null)),
    { type, isTable: false },
  );
}

/** A protobuf value as plain JSON: see the table in `domain/value.ts`. */
export function valueJson(value: Value | undefined): unknown {
  if (value === undefined) return null;
  switch (value.kind.case) {
    case "timestampValue":
      return formatMicros(timestampToMicros(value.kind.value));
    case "durationValue":
      return plainLength(durationToMicros(value.kind.value));
    case "listValue":
      return value.kind.value.values.map(valueJson);
    case "structValue":
      return Object.fromEntries(value.kind.value.fields.map((field) => [field.name, valueJson(field.value)]));
    default:
      return toPlainJson(fromProtoValue(value));
  }
}

/**
 * A value for a table cell: text as it is, times without needless digits, durations with units,
 * everything else as JSON.
 */
export function valueText(value: Value | undefined): string {
  switch (value?.kind.case) {
    case "stringValue":
      return value.kind.value;
    case "doubleValue":
      return Number.isFinite(value.kind.value) ? String(value.kind.value) : String(value.kind.value).replace("Infinity", "inf");
    case "int64Value":
      return value.kind.value.toString();
    case "decimalValue":
      return value.kind.value;
    case "timestampValue":
      return formatInstant(timestampToMicros(value.kind.value));
    case "durationValue": {
      const ms = Number(durationToMicros(value.kind.value)) / 1000;
      return ms < 0 ? `-${formatDuration(-ms)}` : formatDuration(ms);
    }
    default: {
      const json = valueJson(value);
      return typeof json === "string" ? json : JSON.stringify(json);
    }
  }
}

/** The format of failures. */
export interface FailureStyle {
  /** Whether the stack of a resolver's exception is shown below it. */
  readonly stacks: boolean;
}

/**
 * The failures, one line each; a failure that several features share is listed once: `feature:
 * message (resolver, file:line)`.
 */
export function failureLines(response: QueryResponse, style: FailureStyle): string[] {
  const all = [
    ...response.data.flatMap(({ error, field }) => (error ? [{ error, field }] : [])),
    ...response.errors.map((error) => ({ error, field: "" })),
  ];
  const seen = new Map<string, Set<string>>();
  for (const { error, field } of all) {
    const failure = failureText(error, style);
    const fields = seen.get(failure) ?? new Set<string>();
    const feature = field || error.feature;
    if (feature) fields.add(escapeControls(readableName(feature)));
    seen.set(failure, fields);
  }
  return [...seen].map(([failure, fields]) => {
    const names = [...fields].join(", ");
    return names === "" || failure.startsWith(`${names}: `) ? failure : `${names}: ${failure}`;
  });
}

/**
 * An error as text: `message [resolver, file:line]`; further lines of a message, and a stack, are
 * indented.
 */
export function failureText(error: ErrorDetail, { stacks }: FailureStyle): string {
  const { exception } = error;
  const raised = exception?.message ? `${exception.kind}: ${exception.message}` : (exception?.kind ?? "");
  const message =
    raised && !error.message.includes(exception?.message || raised) ? `${error.message} (${raised})` : error.message || raised;
  const position = exception?.file ? `${exception.file}${exception.line ? `:${exception.line}` : ""}` : "";
  const facts = [
    error.resolver && !message.includes(error.resolver) ? `resolver ${error.resolver}` : "",
    message.includes(position) ? "" : position,
  ];
  const shown = facts.filter((fact) => fact !== "").join(", ");
  const head = (shown ? `${message} [${shown}]` : message) || (ErrorCode[error.code] ?? "");
  const stack = stacks ? (exception?.stacktrace.trimEnd() ?? "") : "";
  return visibleLines(stack === "" ? head : `${head}\n${stack}`).replaceAll("\n", "\n  ");
}

/** The line with the address of the run's page; empty when the run was not kept. */
export function runLine(meta: QueryMeta | undefined, style: Style): string {
  return meta?.url ? `${style.dim(style.link(escapeControls(meta.url), `Query run ${escapeControls(meta.queryId)}`))}\n` : "";
}
