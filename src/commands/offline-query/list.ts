import type { ListOfflineQueriesResponse } from "../../../gen/svc/v1/offline_query_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { choice, text, timestamp } from "../../cli/flag.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../page-flags.ts";
import { QUERY_COLUMNS, STATUS_WORDS, type StatusWord } from "./query-view.ts";

export default defineCommand({
  summary: "List offline queries",
  description: "Newest first; ended ones are kept for 90 days.",
  examples: [
    "svc offline-query list",
    { run: "svc offline-query list --status failed --since 24h", does: "Those that failed in a day" },
    { run: "svc offline-queries list --query-name nightly --json", does: "Those of a named query" },
  ],
  needs: ["session"],
  flags: {
    id: text("only ids that have this in them", { placeholder: "<part>" }),
    branch: text("only those of this branch", { placeholder: "<branch>" }),
    agentId: text("only those that this client began", { placeholder: "<id>" }),
    status: choice("only those in this state, in upper or lower case", Object.keys(STATUS_WORDS) as StatusWord[]),
    kind: choice("only those of this kind", ["manual", "scheduled_query"]),
    queryName: text("only those with this name", { placeholder: "<name>" }),
    queryNameVersion: text("only those with this version of the name", { placeholder: "<version>" }),
    since: timestamp("earliest creation, such as 24h for a day ago", { aliases: ["--window", "--time-window"] }),
    ...pageFlags,
    limit: { ...pageFlags.limit, aliases: [...pageFlags.limit.aliases, "--max-results"] },
  },
  check: checkPage,
  async run(context, { id = "", branch = "", agentId = "", status, kind = "", queryName = "", queryNameVersion = "", since, ...page }) {
    const answer = await (await context.api.offlineQueries()).listOfflineQueries({
      ...{ id, branch, agentId, kind, queryName, queryNameVersion },
      ...(status !== undefined && { status: STATUS_WORDS[status] }),
      ...(since !== undefined && { since: msToTimestamp(since) }),
      ...{ pageSize: page.limit, pageToken: page.pageToken ?? "" },
    });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListOfflineQueriesResponse>("queries", QUERY_COLUMNS, { things: "offline queries" }),
});
