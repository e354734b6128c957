import type { PauseScheduledResolverResponse } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { SCHEDULE_FIELDS } from "./schedule-view.ts";

export default defineCommand({
  summary: "Have a resolver no longer run by its schedule",
  description:
    "It stays paused over restarts and new deployments, until `svc scheduled-resolver resume`. A run that has begun goes on, and `svc trigger` runs it all the same.",
  examples: ["svc scheduled-resolver pause get_fraud_score"],
  needs: ["session"],
  args: { resolver: arg("name of the resolver, or its last part") },
  run: async ({ api }, { resolver }) => (await api.resolverRuns()).pauseScheduledResolver({ resolver }),
  view: resourceFields(({ resolver }: PauseScheduledResolverResponse) => resolver, SCHEDULE_FIELDS),
});
