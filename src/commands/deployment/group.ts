import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "List deployments, make one live, go back, delete",
  category: "Build and deploy",
  aliases: ["deployments"],
  examples: ["svc deployment list", { run: "svc deployment rollback", does: "Make the deployment live that was live before" }],
});
