import { defineCommand } from "../../cli/command.ts";
import { deploymentView } from "./view.ts";

export default defineCommand({
  summary: "Make the deployment live that was live before",
  description: "A second rollback takes the first one back. With --branch it is about the deployments of a branch.",
  examples: ["svc deployment rollback", "svc deployment rollback --branch=try-it"],
  needs: ["session"],
  run: async ({ api }) => (await api.deployments()).rollBackDeployment({}),
  view: deploymentView,
});
