import type { ListProjectsResponse } from "../../../gen/svc/v1/project_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "List the server's projects",
  examples: ["svc project list", "svc project list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.projects()).listProjects({}),
  view: messageTable<ListProjectsResponse>("projects", { id: "ID", name: "Name", environments: "Environments", createdAt: "Created" }),
});
