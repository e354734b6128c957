import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show aggregates that are kept in tiles, and backfill them",
  category: "Query and explore",
  examples: [
    "svc aggregate list",
    { run: "svc aggregate backfill --feature user.spend --dry-run", does: "What a backfill would read and store" },
  ],
});
