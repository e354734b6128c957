import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show and steer resolvers of topics",
  category: "Query and explore",
  examples: ["svc streams list", { run: "svc streams dead-letters list on_payment", does: "Messages that it could not read or compute" }],
});
