/** Single spans as a table and as lines. */

import type { TraceSpan } from "../../../../gen/svc/v1/query_pb.ts";
import { readableName } from "../../../domain/name.ts";
import type { FieldViews } from "../../../output/message-view.ts";

const name = { header: "Name", cell: (span: TraceSpan) => readableName(span.name), flexible: true };
const status = { header: "Status", cell: ({ error }: TraceSpan) => (error === "" ? "ok" : "error") };

/** Columns of a list. */
export const SPAN_COLUMNS: FieldViews<TraceSpan> = {
  spanId: "Span ID",
  traceId: "Trace ID",
  name,
  serviceName: "Service",
  startTime: "Start",
  duration: { header: "Duration", align: "right" },
  error: { ...status, style: (cell, style) => (cell === "ok" ? cell : style.red(cell)) },
};

/** All that people see of one. */
export const SPAN_FIELDS: FieldViews<TraceSpan> = {
  spanId: "Span ID",
  traceId: "Trace ID",
  parentSpanId: "Parent",
  kind: "Kind",
  name,
  serviceName: "Service",
  startTime: "Start",
  duration: "Duration",
  error: "Error",
  queryId: "Operation",
  deploymentId: "Deployment",
  attributes: {
    header: "Attributes",
    cell: ({ attributes }) =>
      Object.entries(attributes)
        .map(([attribute, value]) => `${attribute}=${value.replace(/\s+/g, " ")}`)
        .join(", "),
  },
};
