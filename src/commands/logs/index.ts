import type { Client } from "@connectrpc/connect";
import type { AggregateLogsResponse, LogLine, LogService } from "../../../gen/svc/v1/log_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, duration, int, text, timestamp } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { LINE_FIELDS } from "../../domain/logs.ts";
import { msToDuration, msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { checkSearch } from "../../log-client/check-search.ts";
import { followLines } from "../../log-client/follow-lines.ts";
import { readItems } from "../../log-client/pages.ts";
import { viewLines } from "../../log-client/show-log.ts";
import { choiceView, type Style, textView, type View } from "../../output/view.ts";
import { countsText, lineText } from "./line-view.ts";

const MAX_LIMIT = 10_000;
/** Lines of before that a following begins with. */
const RECENT = 10;

/** A page of lines, oldest first. */
interface Lines {
  readonly kind: "lines";
  readonly lines: readonly LogLine[];
}
/** What there is to show: a page, a line that came, counts, or nothing after the view was left. */
type Shown = Lines | LogLine | AggregateLogsResponse | { readonly kind: "viewed" };

export default defineCommand({
  summary: "Search logs",
  category: "Query and explore",
  description:
    "What resolvers print and log, builds, and what the server says of itself to those who see the whole team; the last 14 days, up to 1 GB. A search has words, " +
    "which are parts of messages in any case, and fields: resolver, query_name, operation_id, correlation_id, trace_id, pod_name, component (engine, branch, " +
    "offline-query, server, build, compute), message, level, resource_group, deployment, branch, app, logger, attributes.<name>, all_filter (a part of any " +
    "text) and resolver_filter (a part of the resolver). `field:value` is equal, `field:a*` begins with, `level>=warning` compares, `-` excludes, OR and " +
    "parentheses combine; side by side means both. Put quotes around values with blanks or special characters.",
  examples: [
    "svc logs",
    { run: "svc logs --query 'level>=warning -component:server' --start 24h", does: "What went wrong since yesterday" },
    { run: "svc logs --aggregate --window-period 5m", does: "How many lines of each level, by five minutes" },
    { run: "svc logs --query resolver:shop.get_user --json", does: "All that is known of a resolver's lines" },
  ],
  needs: ["session"],
  flags: {
    query: text("search, as above", { placeholder: "<search>" }),
    aggregate: bool("count lines by time and level instead of showing them"),
    startTime: timestamp("start of the time range", { aliases: ["--start"] }),
    endTime: timestamp("end of the time range", { aliases: ["--end"] }),
    windowPeriod: duration("length of the windows that --aggregate counts by"),
    follow: bool("go on with new lines, until interrupted", { aliases: ["-f"] }),
    tui: bool("open the interactive view"),
    limit: int(`lines at most, 1 to ${MAX_LIMIT}, the newest`, { default: 100, aliases: ["-L", "--page-size"] }),
    pageToken: text("continue before a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
  },
  check({ query = "", aggregate, startTime, endTime, windowPeriod, follow, tui, limit, pageToken }) {
    const beside = (flag: string, others: Readonly<Record<string, boolean>>): void => {
      for (const [other, isGiven] of Object.entries(others)) if (isGiven) throw new UsageError(`${flag} and ${other} do not go together`);
    };
    if (follow) beside("--follow", { "--aggregate": aggregate, "--end-time": endTime !== undefined, "--tui": tui });
    if (tui) beside("--tui", { "--aggregate": aggregate });
    if (pageToken !== undefined) beside("--page-token", { "--follow": follow, "--aggregate": aggregate, "--tui": tui });
    if (windowPeriod !== undefined && !aggregate) throw new UsageError("--window-period needs --aggregate");
    if (windowPeriod !== undefined && (windowPeriod < 1_000 || !Number.isInteger(windowPeriod)))
      throw new UsageError("--window-period is at least a second, in whole milliseconds");
    if (limit < 1 || limit > MAX_LIMIT) throw new UsageError(`--limit takes 1 to ${MAX_LIMIT}`);
    if (startTime !== undefined && endTime !== undefined && startTime >= endTime)
      throw new UsageError("--end-time is not after --start-time");
    checkSearch(query, LINE_FIELDS);
  },
  run(context, { query = "", aggregate, startTime, endTime, windowPeriod, follow, tui, limit, pageToken = "" }) {
    const times = {
      ...(startTime !== undefined && { startTime: msToTimestamp(startTime) }),
      ...(endTime !== undefined && { endTime: msToTimestamp(endTime) }),
    };
    if (follow) return followed(context, query, startTime);
    return (async (): Promise<Shown> => {
      if (tui) {
        await viewLines(context, query, times);
        return { kind: "viewed" };
      }
      const service = await context.api.logs();
      if (aggregate)
        return service.aggregateLogs({
          search: query,
          ...times,
          ...(windowPeriod !== undefined && { window: msToDuration(windowPeriod) }),
        });
      return page(context, service, { search: query, ...times }, limit, pageToken);
    })();
  },
  view: choiceView((shown: Shown) =>
    "kind" in shown ? (shown.kind === "lines" ? LINES : NOTHING) : shown.$typeName === "svc.v1.LogLine" ? LINE : COUNTS,
  ),
});

async function page(
  { progress, signal }: Context,
  service: Client<typeof LogService>,
  wanted: Parameters<typeof service.searchLogs>[0],
  limit: number,
  pageToken: string,
): Promise<Lines> {
  let dropped = 0n;
  const { items, nextPageToken } = await readItems(
    async (size, token) => {
      const answer = await service.searchLogs({ ...wanted, pageSize: Math.min(size, 1_000), pageToken: token });
      dropped = answer.dropped;
      return { items: answer.lines, nextPageToken: answer.nextPageToken };
    },
    { limit, pageToken },
    signal,
  );
  if (dropped > 0n) progress.warn(`The server has dropped ${dropped} lines since it started: too many came at once.`);
  if (nextPageToken !== "" && items.length > 0) progress.note(`Older lines: --page-token ${nextPageToken}`);
  if (items.length === 0) progress.note("No lines found.");
  return { kind: "lines", lines: items.toReversed() };
}

async function* followed(context: Context, search: string, startTime: number | undefined): AsyncGenerator<Shown> {
  yield* followLines(context, await context.api.logs(), { search, recent: startTime === undefined ? RECENT : 1_000, startTime });
}

const json = () => import("../../contract/message-json.ts");

const LINE: View<never> = textView(lineText, async (line: LogLine) => (await json()).messageJson(line)) as View<never>;
const LINES: View<never> = textView(
  ({ lines }: Lines, style: Style) => lines.map((line) => lineText(line, style)).join("\n"),
  async ({ lines }) => {
    const { messageJson } = await json();
    return lines.map((line) => messageJson(line));
  },
  { long: true },
) as View<never>;
const COUNTS: View<never> = textView(countsText, async (answer: AggregateLogsResponse) =>
  (await json()).messageJson(answer),
) as View<never>;
const NOTHING: View<never> = textView(() => "") as View<never>;
