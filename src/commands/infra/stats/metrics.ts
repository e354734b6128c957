import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { statsView } from "../stats-view.ts";

export default defineCommand({
  summary: "Print counters of queries and stores",
  description: "They count from the start of the server that answers. The text is OpenMetrics, which Prometheus reads.",
  examples: ["svc infra stats metrics", "svc infra stats metrics --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.infra()).getStats({ component: Component.METRICS }),
  view: statsView,
});
