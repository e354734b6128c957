import type { ListResolverRunsResponse, ResolverRun } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { bool, text, timestamp } from "../../../cli/flag.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { messageTable } from "../../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../../page-flags.ts";
import { RUN_COLUMNS } from "./run-view.ts";

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
    start: timestamp("earliest creation", { aliases: ["--start-time"] }),
    end: timestamp("latest creation", { aliases: ["--end-time"] }),
    all: bool("fetch every page, each of --limit rows", { aliases: ["--all-pages"] }),
    ...pageFlags,
  },
  check: checkPage,
  async run(context, { resolver = "", limit, start, end, all, pageToken = "" }) {
    const service = await context.api.resolverRuns();
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
    notePage(context, answer);
    return { ...answer, runs };
  },
  view: messageTable<ListResolverRunsResponse>("runs", RUN_COLUMNS, { things: "runs of resolvers" }),
});
