import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show and set how far incremental runs have read",
  category: "Query and explore",
  examples: [
    "svc incremental status --resolver recent_transactions",
    { run: "svc incremental drop --resolver recent_transactions", does: "The next run reads everything" },
  ],
});
