import type { ListScheduledResolversResponse } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { SCHEDULE_FIELDS } from "./schedule-view.ts";

export default defineCommand({
  summary: "List scheduled resolvers",
  description:
    "Resolvers of the environment's live deployment that have `cron`, with the bool of which rows have to be true to run, " +
    "and the resolver that says which rows there are. Times are UTC; branches run nothing by a schedule.",
  examples: ["svc scheduled-resolver list", { run: "svc scheduled-resolver list --json", does: "With exact times" }],
  needs: ["session"],
  run: async ({ api }) => (await api.resolverRuns()).listScheduledResolvers({}),
  view: messageTable<ListScheduledResolversResponse>("resolvers", SCHEDULE_FIELDS, { things: "scheduled resolvers" }),
});
