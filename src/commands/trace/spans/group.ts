import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Show spans of traces",
  category: "Query and explore",
  aliases: ["span"],
  examples: ["svc trace spans list"],
});
