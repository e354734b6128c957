import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "List the queries that are stored with the code",
  category: "Query and explore",
  examples: ["svc named-query list"],
});
