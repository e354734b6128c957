import type { CancelOfflineQueryResponse } from "../../../gen/svc/v1/offline_query_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { queryId } from "./query-flags.ts";
import { statusText } from "./query-view.ts";

export default defineCommand({
  summary: "Cancel an async query in progress",
  description: "Neither its files nor a revision of its dataset stay.",
  examples: ["svc offline-query cancel ofq_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c"],
  needs: ["session"],
  args: { id: optionalArg("id of the query; left out: pick one on a terminal") },
  async run(context, { id }) {
    return (await context.api.offlineQueries()).cancelOfflineQuery({ id: await queryId(context, id) });
  },
  view: resourceFields(({ query }: CancelOfflineQueryResponse) => query, {
    id: "ID",
    status: { header: "Status", cell: statusText },
  }),
});
