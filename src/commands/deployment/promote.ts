import { defineCommand } from "../../cli/command.ts";
import { deploymentArg, givenDeployment } from "./flags.ts";
import { deploymentView } from "./view.ts";

export default defineCommand({
  summary: "Make a deployment live that was built before",
  description:
    "Starts its workers if they do not run, and then sends the queries of its environment or branch to it. What was live before answers until then. " +
    "Where queries are shared by weights, `svc traffic` changes that instead.",
  examples: ["svc deployment promote dpl_0198c0de", { run: "svc deployment promote v1.4", does: "The newest one with a tag" }],
  needs: ["session"],
  args: deploymentArg,
  run: async (context, { id }) => (await context.api.deployments()).promoteDeployment({ deploymentId: await givenDeployment(context, id) }),
  view: deploymentView,
});
