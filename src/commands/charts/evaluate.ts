import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { microsToTimestamp } from "../../domain/proto-time.ts";
import { answerDocument, jsonView } from "../../output/json-view.ts";
import { readArgumentValue } from "../document-flags.ts";
import { configMessage, readRequest } from "./chart-flags.ts";

export default defineCommand({
  summary: "Evaluate a chart snapshot request",
  alsoAt: ["metrics snapshot", "metric snapshot"],
  description:
    "The request is JSON: metricConfig describes a chart, or chart names one of `svc charts list` by its id, or one that is kept by its title; startTime and endTime are times such as 2024-05-01T12:00:00Z, by default the last hour, or what the chart says. " +
    "metricConfig has name, windowPeriod (300s or 5m), series[] {metric, filters[] {kind, comparator, value[]}, name, windowFunction, groupBy[]} and formulas[] {name, kind, operands[]}; " +
    "`svc charts options` lists the names. useStartAsOrigin counts periods from the start time, excludeIncompleteLastBucket leaves out a period that is not over. The answer is JSON, always.",
  examples: [
    { run: `svc charts evaluate '{"chart": "queries.latency"}'`, does: "A chart of the list, of the last hour" },
    { run: "svc charts evaluate @request.json", does: "A request in a file" },
    { run: "svc charts evaluate - < request.json", does: "The same from stdin" },
  ],
  needs: ["session"],
  args: { json: arg("the request, @ and a file of it, or - for stdin") },
  async run(context, { json }) {
    const { endTime, startTime, metricConfig, ...request } = readRequest(await readArgumentValue(context, json));
    const answer = await (await context.api.metrics()).evaluateChart({
      ...request,
      ...(metricConfig && { metricConfig: configMessage(metricConfig) }),
      ...(startTime !== undefined && { startTime: microsToTimestamp(startTime) }),
      ...(endTime !== undefined && { endTime: microsToTimestamp(endTime) }),
    });
    return answerDocument(answer);
  },
  view: jsonView,
});
