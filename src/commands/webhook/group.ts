import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Tell other services of queries and deployments",
  category: "Server and account",
  examples: [
    "svc webhook list",
    { run: "svc webhook test ops", does: "Deliver a test event now" },
    { run: "svc webhook deliveries list --state dead", does: "What could not be delivered" },
  ],
});
