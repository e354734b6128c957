import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { specView } from "../describe-view.ts";

export default defineCommand({
  summary: "Print the spec of the metrics database",
  description:
    "On this server it is what is recorded: logged queries, log lines, spans and metrics, and how long each is kept. What is measured stands in status; keys that were applied without a meaning here are listed there as recorded_not_applied.",
  examples: ["svc infra describe metrics", "svc infra describe metrics --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.infra()).describeComponent({ component: Component.METRICS }),
  view: specView,
});
