import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Show what queries have in common",
  category: "Query and explore",
  examples: ["svc queries meta list", { run: "svc queries meta list --only-named", does: "Those with a name" }],
});
