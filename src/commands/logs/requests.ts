import type { SearchRequestsResponse } from "../../../gen/svc/v1/log_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, int, text, timestamp } from "../../cli/flag.ts";
import { formatDuration } from "../../domain/duration.ts";
import { REQUEST_FIELDS } from "../../domain/logs.ts";
import { durationToMs, msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { checkSearch } from "../../log-client/check-search.ts";
import { readAnswer } from "../../log-client/pages.ts";
import { viewRequests } from "../../log-client/show-log.ts";
import { messageTable } from "../../output/message-view.ts";
import { choiceView, textView, type View } from "../../output/view.ts";

const MAX_LIMIT = 10_000;
const MOST_AT_ONCE = 1_000;

/** Requests, newest first, or nothing after the view was left. */
type Shown = SearchRequestsResponse | { readonly kind: "viewed" };

export default defineCommand({
  summary: "Search gateway access logs",
  description:
    "Requests that the server answered, those to containers and scaling groups too, of all environments, newest first: never what they carried. Fields of a " +
    "search: path (a part of it), method, response_code, duration, bytes, client_id, route (of the gateway), replica, trace_id, level; a word is a part of the " +
    "path. --json has all of them.",
  examples: [
    "svc logs requests",
    { run: "svc logs requests --query 'response_code>=500 OR duration>1s' --start 24h", does: "What failed or was slow since yesterday" },
  ],
  needs: ["session"],
  flags: {
    query: text("search, as above", { placeholder: "<search>" }),
    startTime: timestamp("start of the time range", { aliases: ["--start"] }),
    endTime: timestamp("end of the time range", { aliases: ["--end"] }),
    tui: bool("open the interactive view"),
    limit: int(`requests at most, 1 to ${MAX_LIMIT}, the newest`, { default: 100, aliases: ["-L", "--page-size"] }),
    pageToken: text("continue before a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
  },
  check({ query = "", startTime, endTime, limit, pageToken, tui }) {
    if (limit < 1 || limit > MAX_LIMIT) throw new UsageError(`--limit takes 1 to ${MAX_LIMIT}`);
    if (startTime !== undefined && endTime !== undefined && startTime >= endTime)
      throw new UsageError("--end-time is not after --start-time");
    if (tui && pageToken !== undefined) throw new UsageError("--page-token and --tui do not go together");
    checkSearch(query, REQUEST_FIELDS);
  },
  async run(context, { query = "", startTime, endTime, limit, pageToken, tui }): Promise<Shown> {
    const { api, flags, progress, signal } = context;
    const times = {
      ...(startTime !== undefined && { startTime: msToTimestamp(startTime) }),
      ...(endTime !== undefined && { endTime: msToTimestamp(endTime) }),
    };
    if (tui) {
      await viewRequests(context, query, times);
      return { kind: "viewed" };
    }
    const service = await api.logs();
    const pages = { limit, most: MOST_AT_ONCE, pageToken };
    const answer = await readAnswer((page) => service.searchRequests({ search: query, ...times, ...page }), "requests", pages, signal);
    if (answer.nextPageToken !== "" && !flags.json) progress.note(`Older requests: --page-token ${answer.nextPageToken}`);
    return answer;
  },
  view: choiceView((shown: Shown) => ("kind" in shown ? NOTHING : REQUESTS)),
});

const NOTHING: View<never> = textView(() => "") as View<never>;
const REQUESTS = messageTable<SearchRequestsResponse>("requests", {
  time: "Timestamp",
  path: { header: "Path", flexible: true, cell: ({ method, path }) => `${method} ${path}` },
  responseCode: {
    header: "Response Code",
    align: "right",
    style: (cell, style, { responseCode }) => (responseCode >= 500 ? style.red(cell) : responseCode >= 400 ? style.yellow(cell) : cell),
  },
  duration: {
    header: "Duration",
    align: "right",
    cell: ({ duration }) => (duration ? formatDuration(Math.round(durationToMs(duration) * 100) / 100) : ""),
  },
}) as View<never>;
