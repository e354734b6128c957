import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Browse queries that ran",
  category: "Query and explore",
  aliases: ["query-runs", "query-run"],
  examples: ["svc queries list", { run: "svc queries meta list", does: "What they have in common, with how often it ran" }],
});
