import type { DeleteScalingGroupResponse } from "../../../gen/svc/v1/scaling_group_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { resourceFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { checkWhich, whichFlags } from "../container-flags.ts";

export default defineCommand({
  summary: "Delete a scaling group with its replicas",
  description: "Requests that are being answered are cut. Volumes stay.",
  examples: ["svc scaling-group delete --name score", "svc scaling-group delete --name score --yes"],
  needs: ["session"],
  flags: { ...whichFlags, ...confirmFlags },
  check: checkWhich,
  async run(context, { id, name, force }) {
    const group = id ?? name ?? "";
    await confirm(context, { force }, `Delete the scaling group ${group} with its replicas?`);
    return (await context.api.scalingGroups()).deleteScalingGroup({ group });
  },
  view: resourceFields(({ group }: DeleteScalingGroupResponse) => group, { id: "Deleted", name: "Name" }),
});
