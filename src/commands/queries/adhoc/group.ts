import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Show queries that are no named ones",
  category: "Query and explore",
  examples: ["svc queries adhoc list"],
});
