import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { stateView } from "../state-view.ts";

export default defineCommand({
  summary: "Resume telemetry: tracing starts again",
  description: "Queries from now on are traced as they ask for it.",
  examples: ["svc infra resume telemetry"],
  needs: ["session"],
  run: async ({ api }) => (await api.infra()).resumeComponent({ component: Component.TELEMETRY }),
  view: stateView("telemetry", "running"),
});
