import type { Deployment } from "../../../gen/svc/v1/deployment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { escapeControls } from "../../domain/name.ts";
import { resourceFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { deploymentArg, givenDeployment } from "./flags.ts";
import { stateText } from "./view.ts";

export default defineCommand({
  summary: "Delete a deployment that is not live",
  description:
    "Its graph and its source go with it; the source stays while another deployment has the same one. Values that it stored and queries that it answered stay. " +
    "A deployment that is live or has traffic is not deleted.",
  examples: ["svc deployment delete dpl_0198c0de", "svc deployment delete dpl_0198c0de --yes"],
  needs: ["session"],
  args: deploymentArg,
  flags: confirmFlags,
  async run(context, { force, id }) {
    const deployments = await context.api.deployments();
    const { deployment } = await deployments.getDeployment({ deploymentId: await givenDeployment(context, id) });
    const deploymentId = deployment?.id ?? "";
    await confirm(context, { force }, `Delete deployment ${deployment ? named(deployment) : ""}, its graph and its source?`);
    return deployments.deleteDeployment({ deploymentId });
  },
  view: resourceFields(({ deployment }: { readonly deployment?: Deployment }) => deployment, { id: "Deleted" }),
});

/** The id, state and tags of a deployment, for the question. */
function named(deployment: Deployment): string {
  return `${escapeControls(deployment.id)} (${[stateText(deployment), ...deployment.tags.map(escapeControls)].join(", ")})`;
}
