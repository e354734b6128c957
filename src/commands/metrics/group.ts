import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Query what was recorded of queries and the server",
  category: "Query and explore",
  aliases: ["metric"],
  examples: [
    "svc metrics query p99:query.latency",
    "svc metrics query 'sum:query.errors / sum:query.count' --since 1d",
    "svc metrics export",
  ],
});
