import type { PauseScheduledQueryResponse } from "../../../gen/svc/v1/scheduled_query_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { SCHEDULE_FIELDS } from "./schedule-view.ts";

export default defineCommand({
  summary: "Have a scheduled query no longer run by its schedule",
  description:
    "It stays paused over restarts and new deployments, until `svc scheduled-query resume`. A run that has begun goes on, and `svc scheduled-query trigger` runs it all the same.",
  examples: ["svc scheduled-query pause nightly"],
  needs: ["session"],
  args: { name: arg("name of the scheduled query") },
  run: async ({ api }, { name }) => (await api.scheduledQueries()).pauseScheduledQuery({ name }),
  view: resourceFields(({ scheduledQuery }: PauseScheduledQueryResponse) => scheduledQuery, SCHEDULE_FIELDS),
});
