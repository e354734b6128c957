import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Show plans of queries",
  category: "Query and explore",
  examples: ["svc queries plan get 5f1c0a9be2d47783"],
});
