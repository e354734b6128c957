import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "See what the platform used, and what it costs",
  category: "Server and account",
  examples: ["svc usage export", "svc usage export --period monthly --out usage.csv", "svc usage resource-group pods"],
});
