import type { ListScheduledQueriesResponse } from "../../../gen/svc/v1/scheduled_query_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { SCHEDULE_FIELDS } from "./schedule-view.ts";

export default defineCommand({
  summary: "List scheduled queries",
  description: "Those of the environment's live deployment. Times are UTC; branches run nothing by a schedule.",
  examples: ["svc scheduled-query list", { run: "svc scheduled-query list --json", does: "With exact times" }],
  needs: ["session"],
  run: async ({ api }) => (await api.scheduledQueries()).listScheduledQueries({}),
  view: messageTable<ListScheduledQueriesResponse>("scheduledQueries", SCHEDULE_FIELDS, { things: "scheduled queries" }),
});
