import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show the tables that SQL statements can name",
  category: "Query and explore",
  examples: ["svc catalog list", "svc catalog schemas --show-tables"],
});
