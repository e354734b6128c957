import type { ResumeScheduledResolverResponse } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { SCHEDULE_FIELDS } from "./schedule-view.ts";

export default defineCommand({
  summary: "Have a resolver run by its schedule again",
  description: "It runs when it next comes due; runs that were left out are not made up for.",
  examples: ["svc scheduled-resolver resume get_fraud_score"],
  needs: ["session"],
  args: { resolver: arg("name of the resolver, or its last part") },
  run: async ({ api }, { resolver }) => (await api.resolverRuns()).resumeScheduledResolver({ resolver }),
  view: resourceFields(({ resolver }: ResumeScheduledResolverResponse) => resolver, SCHEDULE_FIELDS),
});
