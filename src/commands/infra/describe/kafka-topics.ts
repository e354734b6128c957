import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { specView } from "../describe-view.ts";

export default defineCommand({
  summary: "Print the spec of the kafka topics",
  description: "What is configured of the server's own topics; those that only code names are not among them.",
  examples: ["svc infra describe kafka-topics", "svc infra describe kafka-topics --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.infra()).describeComponent({ component: Component.KAFKA_TOPICS }),
  view: specView,
});
