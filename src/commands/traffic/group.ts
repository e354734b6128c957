import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Share queries among deployments by their tags",
  category: "Build and deploy",
  examples: [
    "svc traffic get",
    { run: "svc traffic set --tags blue=90,green=10", does: "A tenth of the queries goes to the deployment with the tag green" },
    { run: "svc traffic promote", does: "Send all queries to the other of two tags; again takes it back" },
  ],
});
