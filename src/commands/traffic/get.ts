import { defineCommand } from "../../cli/command.ts";
import { trafficView } from "./view.ts";

export default defineCommand({
  summary: "Show the weights of tags",
  description:
    "Lists the tags of ready deployments. Weight 0 gets no queries and stays warm; null gets none and its workers do not run. " +
    "While no weight is above 0, the live deployment answers all queries.",
  examples: ["svc traffic get", "svc traffic get --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.traffic()).getTraffic({}),
  view: trafficView,
});
