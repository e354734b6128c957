import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Browse errors of queries and runs",
  category: "Query and explore",
  aliases: ["query-errors", "query-error"],
  examples: ["svc errors list", { run: "svc errors aggregate --since 24h", does: "What went wrong since yesterday, counted" }],
});
