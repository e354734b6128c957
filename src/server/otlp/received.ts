/** What an application sent by OTLP, as records of the platform's own stores. */

import type { ExportLogsServiceRequest } from "../../../gen/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts";
import type { ExportTraceServiceRequest } from "../../../gen/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts";
import { type LogRecord as SentLog, SeverityNumber } from "../../../gen/opentelemetry/proto/logs/v1/logs_pb.ts";
import type { Resource } from "../../../gen/opentelemetry/proto/resource/v1/resource_pb.ts";
import { type Span as SentSpan, Span_SpanKind, Status_StatusCode } from "../../../gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import { LOG_LEVELS, type LogLevel } from "../../domain/logs.ts";
import type { NewRecord } from "../stores/logs/store.ts";
import type { SpanRecord } from "../stores/telemetry/store.ts";
import { receivedAttributes, valueText } from "./attributes.ts";

/** Most records of a request; the rest is rejected. */
export const MAX_RECEIVED = 5_000;
/** Most attributes that are kept of a record. */
export const MAX_ATTRIBUTES = 32;
const MAX_NAME = 500;
const MAX_ERROR = 2_000;
/** How far a record's time may be ahead of this server's clock, milliseconds. */
export const AHEAD_MS = 3_600_000;

/** Where what was received belongs. */
export interface ReceivedPlace {
  readonly environmentId: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** What was taken, and how much was not. */
export interface Received<R> {
  readonly records: R[];
  readonly rejected: number;
  /** Why some were rejected: the first one's reason; empty = none was. */
  readonly reason: string;
}

/** The spans of a request. */
export function receivedSpans({ resourceSpans }: ExportTraceServiceRequest, place: ReceivedPlace): Received<SpanRecord> {
  const taking = new Taking<SpanRecord>();
  for (const { resource, scopeSpans } of resourceSpans) {
    const service = serviceOf(resource);
    for (const { scope, spans } of scopeSpans)
      for (const span of spans) taking.take(() => spanRecord(span, service, scope?.name ?? "", place));
  }
  return taking.received();
}

/** The lines of a request. */
export function receivedLogs({ resourceLogs }: ExportLogsServiceRequest, place: ReceivedPlace): Received<NewRecord> {
  const taking = new Taking<NewRecord>();
  for (const { resource, scopeLogs } of resourceLogs) {
    const service = serviceOf(resource);
    for (const { scope, logRecords } of scopeLogs)
      for (const line of logRecords) taking.take(() => logRecord(line, service, scope?.name ?? "", place));
  }
  return taking.received();
}

/** A record that is not taken; the message says why. */
export class Rejected extends Error {}

/** Takes the records of a request, at most as many as it may have. */
export class Taking<R> {
  readonly #records: R[] = [];
  #rejected = 0;
  #reason = "";

  /** Takes a record, unless making it throws Rejected. */
  take(make: () => R): void {
    try {
      if (this.#records.length >= MAX_RECEIVED) throw new Rejected(`a request has at most ${MAX_RECEIVED} records`);
      this.#records.push(make());
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      this.#rejected++;
      this.#reason ||= error.message;
    }
  }

  /** What was taken until now. */
  received(): Received<R> {
    return { records: this.#records, rejected: this.#rejected, reason: this.#reason };
  }
}

/** Attributes of a resource whose names begin with `service.`. */
export type Service = Readonly<Record<string, string>>;

/** The attributes of a resource that say which application it is: `service.name` and its like. */
export function serviceOf(resource: Resource | undefined): Service {
  const named = resource?.attributes.filter(({ key }) => key.startsWith("service.")) ?? [];
  return receivedAttributes(named, MAX_ATTRIBUTES);
}

function spanRecord(span: SentSpan, service: Service, scope: string, { environmentId, now }: ReceivedPlace): SpanRecord {
  const { attributes, name, kind, startTimeUnixNano, endTimeUnixNano } = span;
  const traceId = idOf(span.traceId, 16);
  const spanId = idOf(span.spanId, 8);
  if (traceId === "" || spanId === "") throw new Rejected("a span needs a trace id of 16 bytes and an id of 8, not all zero");
  if (span.parentSpanId.length !== 0 && span.parentSpanId.length !== 8) throw new Rejected("the id of a parent has 8 bytes");
  if (startTimeUnixNano === 0n) throw new Rejected("a span has no time at which it started");
  const startedAt = Number(startTimeUnixNano / 1_000n) / 1_000;
  if (startedAt > now + AHEAD_MS) throw new Rejected("a span starts in the future");
  const length = endTimeUnixNano > startTimeUnixNano ? endTimeUnixNano - startTimeUnixNano : 0n;
  return {
    ...{ traceId, spanId, parentSpanId: idOf(span.parentSpanId, 8) },
    kind: "app",
    name: name.slice(0, MAX_NAME),
    startedAt,
    durationMs: Number(length / 1_000n) / 1_000,
    error: errorOf(span),
    attributes: {
      ...service,
      ...(scope !== "" && { "otel.scope.name": scope.slice(0, MAX_NAME) }),
      ...(kind !== Span_SpanKind.UNSPECIFIED && { "span.kind": (Span_SpanKind[kind] ?? String(kind)).toLowerCase() }),
      ...receivedAttributes(attributes, MAX_ATTRIBUTES),
    },
    ...{ queryId: "", environmentId, deploymentId: "" },
  };
}

/** The message of a span that failed: its status', else that of the last exception it tells of. */
function errorOf({ status, events }: SentSpan): string {
  if (status?.code !== Status_StatusCode.ERROR) return "";
  const exception = events.findLast(({ name }) => name === "exception");
  const told = exception?.attributes.find(({ key }) => key === "exception.message")?.value;
  return (status.message || valueText(told) || "it failed").slice(0, MAX_ERROR);
}

function logRecord(line: SentLog, service: Service, scope: string, { environmentId, now }: ReceivedPlace): NewRecord {
  const at = Number((line.timeUnixNano || line.observedTimeUnixNano) / 1_000n) || now * 1_000;
  if (at > (now + AHEAD_MS) * 1_000) throw new Rejected("a line was written in the future");
  return {
    at,
    level: levelOf(line.severityNumber),
    component: "app",
    environmentId,
    app: service["service.name"] ?? "",
    logger: scope.slice(0, MAX_NAME),
    traceId: idOf(line.traceId, 16),
    spanId: idOf(line.spanId, 8),
    message: valueText(line.body),
    attributes: receivedAttributes(line.attributes, MAX_ATTRIBUTES),
  };
}

/** Numbers of severity that are one level: 1 to 4 are `trace`. */
const PER_LEVEL = 4;

function levelOf(severity: SeverityNumber): LogLevel {
  if (severity === SeverityNumber.UNSPECIFIED) return "info";
  return LOG_LEVELS[Math.min(Math.floor((severity - 1) / PER_LEVEL), LOG_LEVELS.length - 1)] ?? "info";
}

/** An id as hex digits; empty when it is not of that many bytes, or all zero. */
export function idOf(bytes: Uint8Array, length: number): string {
  return bytes.length === length && bytes.some((byte) => byte !== 0) ? bytes.toHex() : "";
}
