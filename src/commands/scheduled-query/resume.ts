import type { ResumeScheduledQueryResponse } from "../../../gen/svc/v1/scheduled_query_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { SCHEDULE_FIELDS } from "./schedule-view.ts";

export default defineCommand({
  summary: "Have a scheduled query run by its schedule again",
  description: "It runs when it next comes due; runs that were left out are not made up for.",
  examples: ["svc scheduled-query resume nightly"],
  needs: ["session"],
  args: { name: arg("name of the scheduled query") },
  run: async ({ api }, { name }) => (await api.scheduledQueries()).resumeScheduledQuery({ name }),
  view: resourceFields(({ scheduledQuery }: ResumeScheduledQueryResponse) => scheduledQuery, SCHEDULE_FIELDS),
});
