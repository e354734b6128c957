import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show, test and silence monitors of metrics",
  category: "Query and explore",
  aliases: ["monitor"],
  examples: ["svc monitors list", { run: "svc monitors silence slow_fraud --for 2h", does: "While it is known" }],
});
