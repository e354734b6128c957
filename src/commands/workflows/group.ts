import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show workflows: jobs with one purpose",
  category: "Server and account",
  aliases: ["workflow"],
  examples: ["svc workflows list", { run: "svc workflows get-graph wf_0198c0de", does: "Its operations, and what waits for what" }],
});
