import { defineCommand } from "../../cli/command.ts";
import { deploymentArg, givenDeployment } from "./flags.ts";
import { deploymentView } from "./view.ts";

export default defineCommand({
  summary: "Show a deployment",
  examples: ["svc deployment get dpl_0198c0de", { run: "svc deployment get blue", does: "The one that a tag stands for" }],
  needs: ["session"],
  args: deploymentArg,
  run: async (context, { id }) => (await context.api.deployments()).getDeployment({ deploymentId: await givenDeployment(context, id) }),
  view: deploymentView,
});
