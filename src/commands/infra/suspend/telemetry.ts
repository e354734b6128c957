import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { stateView } from "../state-view.ts";

export default defineCommand({
  summary: "Suspend telemetry: tracing stops for every environment",
  description:
    "No spans are recorded, whether a query asks for them or its caller's trace is sampled, until telemetry is resumed, also over a restart. Spans that are recorded already can still be read.",
  examples: ["svc infra suspend telemetry"],
  needs: ["session"],
  run: async ({ api }) => (await api.infra()).suspendComponent({ component: Component.TELEMETRY }),
  view: stateView("telemetry", "suspended"),
});
