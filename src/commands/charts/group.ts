import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "List charts of metrics, and evaluate them",
  category: "Query and explore",
  aliases: ["chart"],
  examples: ["svc charts list", "svc charts options"],
});
