/** Worker thread of the export: it encodes, compresses and sends, so that no query waits for it. */

import { create } from "@bufbuild/protobuf";
import {
  ExportLogsServiceRequestSchema,
  ExportLogsServiceResponseSchema,
} from "../../../gen/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts";
import {
  ExportMetricsServiceRequestSchema,
  ExportMetricsServiceResponseSchema,
} from "../../../gen/opentelemetry/proto/collector/metrics/v1/metrics_service_pb.ts";
import {
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
} from "../../../gen/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts";
import type { NewRecord } from "../stores/logs/store.ts";
import type { SpanRecord } from "../stores/telemetry/store.ts";
import { serve } from "../thread/rpc.ts";
import { sentAttributes } from "./attributes.ts";
import { type Sent, type SignalMessages, send } from "./send.ts";
import { sentLog } from "./sent-logs.ts";
import { type MetricPoint, sentMetrics } from "./sent-metrics.ts";
import { sentSpan } from "./sent-spans.ts";
import type { OtlpSettings, Signal, SignalSettings } from "./settings.ts";

/** Settings of the thread; the resource has all its attributes. */
export interface ExportSettings extends OtlpSettings {
  /** Version of this program. */
  readonly version: string;
}

/** What the thread does. */
export interface ExportCalls {
  traces(spans: readonly SpanRecord[]): Promise<Sent>;
  logs(lines: readonly NewRecord[]): Promise<Sent>;
  metrics(points: readonly MetricPoint[]): Promise<Sent>;
  /** Repeats no request from now on, and ends all of them after a time, milliseconds. */
  hurry(ms: number): void;
}

const TRACES = {
  request: ExportTraceServiceRequestSchema,
  answer: ExportTraceServiceResponseSchema,
  rejected: ({ partialSuccess: partial }) => partial && { count: partial.rejectedSpans, reason: partial.errorMessage },
} satisfies SignalMessages<typeof ExportTraceServiceRequestSchema, typeof ExportTraceServiceResponseSchema>;

const LOGS = {
  request: ExportLogsServiceRequestSchema,
  answer: ExportLogsServiceResponseSchema,
  rejected: ({ partialSuccess: partial }) => partial && { count: partial.rejectedLogRecords, reason: partial.errorMessage },
} satisfies SignalMessages<typeof ExportLogsServiceRequestSchema, typeof ExportLogsServiceResponseSchema>;

const METRICS = {
  request: ExportMetricsServiceRequestSchema,
  answer: ExportMetricsServiceResponseSchema,
  rejected: ({ partialSuccess: partial }) => partial && { count: partial.rejectedDataPoints, reason: partial.errorMessage },
} satisfies SignalMessages<typeof ExportMetricsServiceRequestSchema, typeof ExportMetricsServiceResponseSchema>;

serve<ExportCalls, ExportSettings>({ make, close: () => undefined });

function make({ resource: named, signals, version }: ExportSettings): ExportCalls {
  const resource = { attributes: sentAttributes(named) };
  const scope = { name: "svc", version };
  const repeats = new AbortController();
  const all = new AbortController();
  const ends = { repeats: repeats.signal, all: all.signal };
  const settingsOf = (signal: Signal): SignalSettings => {
    const settings = signals[signal];
    if (!settings) throw new Error(`${signal} are not exported`);
    return settings;
  };
  return {
    traces: (spans) =>
      send(
        TRACES,
        create(TRACES.request, { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: spans.map(sentSpan) }] }] }),
        spans.length,
        settingsOf("traces"),
        ends,
      ),
    logs: (lines) =>
      send(
        LOGS,
        create(LOGS.request, { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: lines.map(sentLog) }] }] }),
        lines.length,
        settingsOf("logs"),
        ends,
      ),
    metrics: (points) =>
      send(
        METRICS,
        create(METRICS.request, { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics: sentMetrics(points) }] }] }),
        points.length,
        settingsOf("metrics"),
        ends,
      ),
    hurry(ms) {
      repeats.abort();
      setTimeout(() => all.abort(), ms);
    },
  };
}
