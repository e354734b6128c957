import type { ListContainersResponse } from "../../../gen/svc/v1/container_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { CONTAINER_COLUMNS } from "./container-view.ts";

export default defineCommand({
  summary: "List containers",
  description: "Those that have ended are listed for a week.",
  examples: ["svc container list", "svc container list --json=id,status"],
  needs: ["session"],
  run: async ({ api }) => (await api.containers()).listContainers({}),
  view: messageTable<ListContainersResponse>("containers", CONTAINER_COLUMNS),
});
