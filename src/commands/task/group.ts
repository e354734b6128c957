import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Run scripts and functions of the project on the server",
  category: "Build and deploy",
  examples: ["svc task run scripts/report.py --watch", { run: "svc task list", does: "What ran, and what runs" }],
});
