import type { ListResolverRunsResponse, ResolverRun } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { bool, int, text, timestamp } from "../../../cli/flag.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { UsageError } from "../../../errors/cli-error.ts";
import { messageTable } from "../../../output/message-view.ts";
import { RUN_COLUMNS } from "./run-view.ts";

const MOST = 500;

export default defineCommand({
  summary: "List runs of resolvers, newest first",
  description: "Runs by schedules and those of `svc trigger`; ended ones are kept for 90 days.",
  examples: [
    "svc scheduled-resolver runs list",
    { run: "svc scheduled-resolver runs list --resolver get_fraud_score --start 24h", does: "Those of a resolver for a day" },
  ],
  needs: ["session"],
  flags: {
    resolver: text("only runs of this resolver, by FQN", { placeholder: "<resolver>" }),
    limit: int("rows per page, 1 to 500", { default: 50, aliases: ["--page-size"] }),
    start: timestamp("earliest creation", { aliases: ["--start-time"] }),
    end: timestamp("latest creation", { aliases: ["--end-time"] }),
    all: bool("fetch every page", { aliases: ["--all-pages"] }),
    pageToken: text("continue after a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
  },
  check({ limit }) {
    if (limit < 1 || limit > MOST) throw new UsageError(`--limit takes 1 to ${MOST}`);
  },
  async run({ api, flags, progress }, { resolver = "", limit, start, end, all, pageToken = "" }) {
    const service = await api.resolverRuns();
    const read = (token: string): Promise<ListResolverRunsResponse> =>
      service.listResolverRuns({
        resolver,
        ...(start !== undefined && { since: msToTimestamp(start) }),
        ...(end !== undefined && { until: msToTimestamp(end) }),
        pageSize: limit,
        pageToken: token,
      });
    let answer = await read(pageToken);
    const runs: ResolverRun[] = [...answer.runs];
    while (all && answer.nextPageToken !== "") {
      answer = await read(answer.nextPageToken);
      runs.push(...answer.runs);
    }
    if (answer.nextPageToken !== "" && !flags.json) progress.note(`More: --page-token ${answer.nextPageToken}`);
    return { ...answer, runs };
  },
  view: messageTable<ListResolverRunsResponse>("runs", RUN_COLUMNS, { things: "runs of resolvers" }),
});
