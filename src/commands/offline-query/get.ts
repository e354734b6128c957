import type { GetOfflineQueryResponse } from "../../../gen/svc/v1/offline_query_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { queryId } from "./query-flags.ts";
import { QUERY_FIELDS } from "./query-view.ts";

export default defineCommand({
  summary: "Show an offline query",
  description: "How far it has got, how many rows failed, and where its answer is.",
  examples: [
    "svc offline-query get ofq_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c",
    { run: "svc offline-query get ofq_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c --json", does: "With exact times" },
  ],
  needs: ["session"],
  args: { id: optionalArg("id of the query; left out: pick one on a terminal") },
  async run(context, { id }) {
    return (await context.api.offlineQueries()).getOfflineQuery({ id: await queryId(context, id) });
  },
  view: resourceFields(({ query }: GetOfflineQueryResponse) => query, QUERY_FIELDS),
});
