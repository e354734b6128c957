import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "See what happened in the cluster",
  category: "Server and account",
  examples: ["svc kube events list", "svc kube events list --start-time 1h --message killed"],
});
