/** Lines of this server as messages of OTLP. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type LogRecordSchema, SeverityNumber } from "../../../gen/opentelemetry/proto/logs/v1/logs_pb.ts";
import type { LogLevel } from "../../domain/logs.ts";
import type { NewRecord } from "../stores/logs/store.ts";
import { sentAttributes } from "./attributes.ts";
import { nanoseconds } from "./sent-spans.ts";

const SEVERITIES: Readonly<Record<LogLevel, SeverityNumber>> = {
  trace: SeverityNumber.TRACE,
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warning: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
  fatal: SeverityNumber.FATAL,
};

/** The message of a line. */
export function sentLog(line: NewRecord): MessageInitShape<typeof LogRecordSchema> {
  const { at, attributes, level, message, spanId = "", traceId = "" } = line;
  return {
    timeUnixNano: nanoseconds(at),
    observedTimeUnixNano: nanoseconds(at),
    severityNumber: SEVERITIES[level],
    severityText: level,
    body: { value: { case: "stringValue", value: message } },
    ...(isHex(traceId, 32) && { traceId: Uint8Array.fromHex(traceId) }),
    ...(isHex(spanId, 16) && { spanId: Uint8Array.fromHex(spanId) }),
    attributes: sentAttributes({
      ...attributes,
      "svc.component": line.component,
      "svc.environment.id": line.environmentId,
      "svc.deployment.id": line.deploymentId,
      "svc.branch": line.branch,
      "svc.resolver": line.resolver,
      "svc.query.name": line.queryName,
      "svc.operation.id": line.operationId,
      "svc.correlation.id": line.correlationId,
      "svc.pod.name": line.podName,
      "svc.logger": line.logger,
    }),
  };
}

function isHex(text: string, digits: number): boolean {
  return text.length === digits && /^[\da-f]+$/i.test(text);
}
