import type { ListAdhocQueriesResponse } from "../../../../gen/svc/v1/query_run_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { text } from "../../../cli/flag.ts";
import { messageTable } from "../../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../../page-flags.ts";
import { ADHOC_COLUMNS } from "../run-view.ts";

export default defineCommand({
  summary: "List ad hoc queries",
  description:
    "The last observed first: shapes of queries that are no named query of a deployment, and names that callers only label theirs with.",
  examples: ["svc queries adhoc list", { run: "svc queries adhoc list --query-name nightly", does: "Those that callers gave this label" }],
  needs: ["session"],
  flags: {
    queryName: text("only those that callers labelled with this name", { placeholder: "<name>" }),
    environmentId: text("the environment, in place of --environment", { placeholder: "<environment>", names: "environment" }),
    ...pageFlags,
    limit: { ...pageFlags.limit, aliases: ["-L", "--page-size", "--max-results"] },
    pageToken: { ...pageFlags.pageToken, aliases: ["--cursor", "--next-page-token"] },
  },
  check: checkPage,
  async run(context, { queryName = "", environmentId, limit, pageToken = "" }) {
    const headers = environmentId === undefined ? undefined : { headers: { "svc-environment": encodeURIComponent(environmentId) } };
    const answer = await (await context.api.queryRuns()).listAdhocQueries({ queryName, pageSize: limit, pageToken }, headers);
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListAdhocQueriesResponse>("adhocQueries", ADHOC_COLUMNS, { things: "ad hoc queries" }),
});
