import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show and pause scheduled resolvers, and show runs",
  category: "Query and explore",
  examples: ["svc scheduled-resolver list", "svc scheduled-resolver pause get_fraud_score", "svc scheduled-resolver runs list"],
});
