import type { ListQueryRunsResponse } from "../../../gen/svc/v1/query_run_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, float, int, text, timestamp } from "../../cli/flag.ts";
import { msToDuration, msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { readAnswer } from "../../log-client/pages.ts";
import { messageTable } from "../../output/message-view.ts";
import { choiceView, type View } from "../../output/view.ts";
import { notePage } from "../page-flags.ts";
import { runColumns } from "./run-view.ts";

const MOST = 10_000;
const PAGE = 1_000;

export default defineCommand({
  summary: "List query runs",
  description:
    "Newest first: online queries of the environment that this node answered, also those that were refused; the last 14 days, up to 2 GB. A key is shown " +
    "of queries for one row, unless it is tagged pii; --root-ns-pkey finds those too.",
  examples: [
    "svc queries list",
    { run: "svc queries list --since 1h --errors-only", does: "What failed in the last hour" },
    { run: "svc queries list --min-latency-ms 50 --json", does: "The slow ones" },
    { run: "svc queries list --root-ns-pkey 1", does: "Those for the row with this primary key" },
  ],
  needs: ["session"],
  flags: {
    includeLatency: bool("also show how long each took in the engine"),
    minLatencyMs: float("only runs that took longer than this many milliseconds; shows the latency", { aliases: ["--latency-gt"] }),
    queryPlanId: text("only runs with this plan", { placeholder: "<id>" }),
    metaQueryId: text("only runs of this meta query", { placeholder: "<id>" }),
    metaQueryName: text("only runs with this name", { placeholder: "<name>", aliases: ["--query-name"] }),
    id: text("a part of the run's id", { placeholder: "<text>" }),
    branch: text("only runs on this branch", { placeholder: "<name>" }),
    agentId: text("only runs that this client asked for", { placeholder: "<client>" }),
    rootNsPkey: text("only runs for the row with this primary key", { placeholder: "<key>", aliases: ["--primary-key", "--pkey"] }),
    since: timestamp("only runs since then: look back 1h, 24h, 7d, or a time", { aliases: ["--window", "--time-window"] }),
    limit: int(`runs at most, 1 to ${MOST}`, { default: 100, aliases: ["-L", "--max-results", "--page-size"] }),
    pageToken: text("continue after a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
    errorsOnly: bool("only runs with errors", { aliases: ["--has-errors"] }),
  },
  check({ limit, minLatencyMs }) {
    if (limit < 1 || limit > MOST) throw new UsageError(`--limit takes 1 to ${MOST}`);
    if (minLatencyMs !== undefined && !(minLatencyMs >= 0)) throw new UsageError("--min-latency-ms is no less than 0");
  },
  async run(context, { limit, pageToken, since, minLatencyMs, includeLatency, ...only }) {
    const service = await context.api.queryRuns();
    const wanted = {
      queryPlanId: only.queryPlanId ?? "",
      metaQueryId: only.metaQueryId ?? "",
      queryName: only.metaQueryName ?? "",
      idPart: only.id ?? "",
      branch: only.branch ?? "",
      agentId: only.agentId ?? "",
      primaryKey: only.rootNsPkey ?? "",
      errorsOnly: only.errorsOnly,
      ...(minLatencyMs !== undefined && { minLatency: msToDuration(minLatencyMs) }),
      ...(since !== undefined && { startTime: msToTimestamp(since) }),
    };
    const pages = { limit, most: PAGE, pageToken };
    const answer = await readAnswer((page) => service.listQueryRuns({ ...wanted, ...page }), "queries", pages, context.signal);
    if (answer.queries.length > 0) notePage(context, answer);
    const isShown = includeLatency || minLatencyMs !== undefined;
    return { ...answer, queries: isShown ? answer.queries : answer.queries.map(({ latency: _, ...run }) => run) };
  },
  view: choiceView(({ queries }: ListQueryRunsResponse) => table(queries.some(({ latency }) => latency !== undefined))),
});

function table(withLatency: boolean): View<never> {
  return messageTable<ListQueryRunsResponse>("queries", runColumns(withLatency), { things: "query runs" }) as View<never>;
}
