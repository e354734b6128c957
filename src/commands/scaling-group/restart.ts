import type { RestartScalingGroupResponse } from "../../../gen/svc/v1/scaling_group_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { resourceFields } from "../../output/message-view.ts";
import { checkWhich, whichFlags } from "../container-flags.ts";
import { GROUP_FIELDS } from "./scaling-group-view.ts";

export default defineCommand({
  summary: "Replace all replicas of a scaling group by new ones",
  description:
    "The new ones answer before the old ones go, so that requests are lost by nobody. When the first one cannot be started, all stays.",
  examples: ["svc scaling-group restart --name score"],
  needs: ["session"],
  flags: whichFlags,
  check: checkWhich,
  run: async ({ api }, { id, name }) => (await api.scalingGroups()).restartScalingGroup({ group: id ?? name }),
  view: resourceFields(({ group }: RestartScalingGroupResponse) => group, GROUP_FIELDS),
});
