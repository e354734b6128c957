import type { TraceServiceGetTraceResponse } from "../../../gen/svc/v1/trace_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { TableLayout } from "../../output/table.ts";
import { type Column, textView } from "../../output/view.ts";
import { spanRows, spansJson, type TreeRow, waterfall } from "./waterfall-view.ts";

const COLUMNS: readonly Column<TreeRow>[] = [
  { header: "Name", cell: ({ label }) => label },
  { header: "Service", cell: ({ span }) => span.serviceName },
  { header: "Start", align: "right", cell: ({ start }) => start },
  { header: "Duration", align: "right", cell: ({ duration }) => duration },
  { header: "Facts", cell: ({ facts }) => facts },
  { header: "Statement", cell: ({ statement }) => statement },
  { header: "Error", cell: ({ span }) => span.error.split("\n", 1)[0] ?? "" },
];

export default defineCommand({
  summary: "Show the full span timing of a trace",
  description:
    "Each step below the one that it is a part of, with when it began, how long it took, and the statements that were sent to databases. A table in a pipe; " +
    "--json has all that is known of each span.",
  examples: ["svc trace get --trace-id 4bf92f3577b34da6a3ce929d0e0e4736", "svc trace get --operation-id 0198c0de7a4b7f1e9c52d8e3b6a1f047"],
  needs: ["session"],
  flags: {
    operationId: text("the query, run of a resolver or offline query that it is of", { placeholder: "<id>" }),
    traceId: text("the trace", { placeholder: "<id>" }),
  },
  check({ operationId, traceId }) {
    if ((operationId === undefined) === (traceId === undefined)) throw new UsageError("give either --operation-id or --trace-id");
  },
  async run({ api }, { operationId = "", traceId }) {
    const trace =
      traceId === undefined ? { case: "operationId" as const, value: operationId } : { case: "traceId" as const, value: traceId };
    return (await api.traces()).getTrace({ trace });
  },
  view: textView(
    ({ spans, trace }: TraceServiceGetTraceResponse, style) =>
      style.isTTY
        ? [waterfall(spans, style).trim(), ...(trace?.url ? [style.dim(trace.url)] : [])].join("\n\n")
        : new TableLayout(COLUMNS, style).rows(spanRows(spans)),
    async ({ trace, spans }) => ({
      ...(trace && ((await (await import("../../contract/message-json.ts")).messageJson(trace)) as object)),
      spans: spansJson(spans),
    }),
    { long: true },
  ),
});
