import type { ListEnvironmentsResponse } from "../../../gen/svc/v1/environment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "List environments",
  examples: ["svc environment list", "svc environment list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.environments()).listEnvironments({}),
  view: messageTable<ListEnvironmentsResponse>("environments", {
    id: "ID",
    name: "Name",
    projectName: "Project",
    suspendedAt: { header: "State", cell: ({ suspendedAt }) => (suspendedAt ? "suspended" : "active") },
    createdAt: "Created",
  }),
});
