/** Spans of this server as messages of OTLP. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Span_SpanKind, type SpanSchema, Status_StatusCode } from "../../../gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import type { SpanKind, SpanRecord } from "../stores/telemetry/store.ts";
import { sentAttributes } from "./attributes.ts";

/** Kinds of spans that are calls from or to others; all others are internal. */
const KINDS: Readonly<Partial<Record<SpanKind, Span_SpanKind>>> = {
  gateway: Span_SpanKind.SERVER,
  sql: Span_SpanKind.CLIENT,
  delivery: Span_SpanKind.CLIENT,
};

/** The message of a span. */
export function sentSpan(span: SpanRecord): MessageInitShape<typeof SpanSchema> {
  const { attributes, deploymentId, environmentId, error, kind, name, queryId, startedAt, durationMs } = span;
  return {
    traceId: Uint8Array.fromHex(span.traceId),
    spanId: Uint8Array.fromHex(span.spanId),
    parentSpanId: Uint8Array.fromHex(span.parentSpanId),
    name,
    kind: KINDS[kind] ?? Span_SpanKind.INTERNAL,
    startTimeUnixNano: nanoseconds(startedAt * 1_000),
    endTimeUnixNano: nanoseconds((startedAt + durationMs) * 1_000),
    attributes: sentAttributes({
      ...attributes,
      "svc.span.kind": kind,
      "svc.query.id": queryId,
      "svc.environment.id": environmentId,
      "svc.deployment.id": deploymentId,
    }),
    ...(error !== "" && { status: { code: Status_StatusCode.ERROR, message: error } }),
  };
}

/** Epoch nanoseconds of epoch microseconds. */
export function nanoseconds(microseconds: number): bigint {
  return BigInt(Math.round(microseconds)) * 1_000n;
}
