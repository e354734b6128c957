import type { ListScalingGroupsResponse } from "../../../gen/svc/v1/scaling_group_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { GROUP_COLUMNS } from "./scaling-group-view.ts";

export default defineCommand({
  summary: "List scaling groups",
  examples: ["svc scaling-group list", "svc scaling-group list --json=name,status,url"],
  needs: ["session"],
  run: async ({ api }) => (await api.scalingGroups()).listScalingGroups({}),
  view: messageTable<ListScalingGroupsResponse>("groups", GROUP_COLUMNS),
});
