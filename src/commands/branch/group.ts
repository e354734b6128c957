import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Start, list and delete branches, and download their source",
  category: "Build and deploy",
  examples: ["svc branch list", { run: "svc branch source --branch=try-it --latest", does: "What is deployed on a branch, as a folder" }],
});
