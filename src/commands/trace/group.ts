import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show where the time of queries went",
  category: "Query and explore",
  aliases: ["traces"],
  examples: ["svc trace list", { run: "svc trace get --operation-id 0198c0de7a4b7f1e9c52d8e3b6a1f047", does: "The trace of a query" }],
});
