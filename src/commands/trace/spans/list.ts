import type { ListSpansResponse } from "../../../../gen/svc/v1/trace_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { int, text } from "../../../cli/flag.ts";
import { messageTable } from "../../../output/message-view.ts";
import { notePage } from "../../page-flags.ts";
import { checkWindow, MOST_ROWS, windowFlags, windowOf } from "../window-flags.ts";
import { SPAN_COLUMNS } from "./span-view.ts";

export default defineCommand({
  summary: "List spans",
  description: "Newest first; those of one trace by their start, whenever that was unless times are given.",
  examples: [
    "svc trace spans list",
    { run: "svc trace spans list --service-name svc-python --start -24h", does: "Calls of the project's code since yesterday" },
  ],
  needs: ["session"],
  flags: {
    traceId: text("only spans of this trace", { placeholder: "<id>" }),
    ...windowFlags,
    limit: int(`spans at most, 1 to ${MOST_ROWS}`, { default: 100, aliases: ["-L", "--page-size"] }),
    pageToken: text("continue after a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
  },
  check: checkWindow,
  async run(context, { traceId = "", limit, pageToken = "", ...window }) {
    const answer = await (await context.api.traces()).listSpans({ traceId, ...windowOf(window), pageSize: limit, pageToken });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListSpansResponse>("spans", SPAN_COLUMNS),
});
