import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { statsView } from "../stats-view.ts";

export default defineCommand({
  summary: "Print the bytes of the data directory's folders",
  description: "They are measured now. The text is OpenMetrics, which Prometheus reads.",
  examples: ["svc infra stats volumes", "svc infra stats volumes --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.infra()).getStats({ component: Component.VOLUMES }),
  view: statsView,
});
