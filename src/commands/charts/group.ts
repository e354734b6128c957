import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "List, keep and evaluate charts of metrics",
  category: "Query and explore",
  aliases: ["chart"],
  examples: ["svc charts list", "svc charts options"],
});
