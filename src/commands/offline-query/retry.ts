import type { RetryOfflineQueryResponse } from "../../../gen/svc/v1/offline_query_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { queryId } from "./query-flags.ts";
import { statusText } from "./query-view.ts";

export default defineCommand({
  summary: "Run the stored request body again",
  description: "As a query of its own. A file of rows is kept for a week after the query that it came with has ended.",
  examples: ["svc offline-query retry ofq_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c"],
  needs: ["session"],
  args: { id: optionalArg("id of the query; left out: pick one on a terminal") },
  async run(context, { id }) {
    return (await context.api.offlineQueries()).retryOfflineQuery({ id: await queryId(context, id) });
  },
  view: resourceFields(({ query }: RetryOfflineQueryResponse) => query, {
    id: "ID",
    status: { header: "Status", cell: statusText },
    retryOf: "Retry of",
  }),
});
