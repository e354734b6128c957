import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show scheduled resolvers, and runs of resolvers",
  category: "Query and explore",
  examples: ["svc scheduled-resolver list", "svc scheduled-resolver runs list"],
});
