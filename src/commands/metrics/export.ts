import { defineCommand } from "../../cli/command.ts";
import { statsView } from "../infra/stats-view.ts";

export default defineCommand({
  summary: "Print what the server recorded, for Prometheus",
  description:
    "Sums of queries, resolvers, features, stores and the server since the start of the node that answers, of all environments. The text is OpenMetrics, which Prometheus reads; " +
    "a Prometheus takes the same from /metrics of the server, with a token.",
  examples: ["svc metrics export", "svc metrics export --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.infra()).exportMetrics({}),
  view: statsView,
});
