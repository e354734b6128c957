import type { GetSpanResponse } from "../../../../gen/svc/v1/trace_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { arg, text } from "../../../cli/flag.ts";
import { resourceFields } from "../../../output/message-view.ts";
import { SPAN_FIELDS } from "./span-view.ts";

export default defineCommand({
  summary: "Show one span",
  description: "Its attributes have the names of OpenTelemetry's conventions, and names of svc where there is none.",
  examples: ["svc trace spans get 00f067aa0ba902b7"],
  needs: ["session"],
  args: { spanId: arg("id of the span") },
  flags: { traceId: text("the trace that it belongs to", { placeholder: "<id>" }) },
  async run({ api }, { spanId, traceId = "" }) {
    return (await api.traces()).getSpan({ spanId, traceId });
  },
  view: resourceFields(({ span }: GetSpanResponse) => span, SPAN_FIELDS),
});
