import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show and pause scheduled queries, and run one now",
  category: "Query and explore",
  examples: ["svc scheduled-query list", { run: "svc scheduled-query trigger --name nightly", does: "Now, beside its schedule" }],
});
