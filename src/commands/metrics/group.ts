import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "See what the server recorded",
  category: "Query and explore",
  aliases: ["metric"],
  examples: ["svc metrics export"],
});
