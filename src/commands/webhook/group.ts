import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Tell other services of queries and deployments",
  category: "Server and account",
  examples: [
    "svc webhook list",
    {
      run: "svc webhook create --name ops --url https://example.com/hook --subscriptions query.run",
      does: "Tell an address of queries",
    },
    { run: "svc webhook deliveries list --state dead", does: "What could not be delivered" },
  ],
});
