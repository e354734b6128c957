import type { GetScalingGroupResponse } from "../../../gen/svc/v1/scaling_group_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { resourceFields } from "../../output/message-view.ts";
import { checkWhich, whichFlags } from "../container-flags.ts";
import { GROUP_FIELDS } from "./scaling-group-view.ts";

export default defineCommand({
  summary: "Show a scaling group with its replicas",
  description: "What a replica printed is in `svc logs --query operation_id:<container>`.",
  examples: ["svc scaling-group get --name score", "svc scaling-group get --id sg_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e"],
  needs: ["session"],
  flags: whichFlags,
  check: checkWhich,
  run: async ({ api }, { id, name }) => (await api.scalingGroups()).getScalingGroup({ group: id ?? name }),
  view: resourceFields(({ group }: GetScalingGroupResponse) => group, GROUP_FIELDS),
});
