import type { ListTracesResponse } from "../../../gen/svc/v1/trace_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, int, text } from "../../cli/flag.ts";
import { readAnswer } from "../../log-client/pages.ts";
import { messageTable } from "../../output/message-view.ts";
import { notePage } from "../page-flags.ts";
import { checkWindow, MOST_ROWS, windowFlags, windowOf } from "./window-flags.ts";

export default defineCommand({
  summary: "List traces",
  description:
    "The latest start first. Spans are kept of queries with --trace, of those whose caller's traceparent is sampled, and of one query in a hundred, at most ten " +
    "a second, for 7 days or up to 1 GB; svc infra apply metrics sets trace_sample_rate, trace_sample_limit, trace_retention and trace_storage.",
  examples: [
    "svc trace list",
    { run: "svc trace list --start -24h --span-name 'POST /v1/query/*' --json", does: "Queries over JSON since yesterday" },
  ],
  needs: ["session"],
  flags: {
    ...windowFlags,
    limit: int(`traces at most, 1 to ${MOST_ROWS}; with --all-pages, those that are asked for at once`, {
      default: 100,
      aliases: ["-L", "--page-size"],
    }),
    allPages: bool("show all, not only the first page", { aliases: ["--all"] }),
    pageToken: text("continue after a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
  },
  check: checkWindow,
  async run(context, { limit, allPages, pageToken, ...window }) {
    const service = await context.api.traces();
    const wanted = windowOf(window);
    const pages = { limit: allPages ? Number.MAX_SAFE_INTEGER : limit, most: limit, pageToken };
    const answer = await readAnswer((page) => service.listTraces({ ...wanted, ...page }), "traces", pages, context.signal);
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListTracesResponse>("traces", {
    traceId: "Trace ID",
    rootSpan: { header: "Root Span", flexible: true },
    serviceName: "Service",
    startTime: "Start",
    duration: { header: "Duration", align: "right" },
    spanCount: { header: "Spans", align: "right", style: (cell, style, { errorCount }) => (errorCount > 0 ? style.red(cell) : cell) },
  }),
});
