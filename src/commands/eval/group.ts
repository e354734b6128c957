import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Score functions of the project over datasets",
  category: "Query and explore",
  examples: ["svc eval list", { run: "svc eval trigger answers --await", does: "A run, followed until it ends" }],
});
