import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { specView } from "../describe-view.ts";

export default defineCommand({
  summary: "Print the spec of background persistence",
  description:
    "Its writers bring computed values to the online and the offline store. What is measured stands in status, with the values that wait and those that were dropped.",
  examples: ["svc infra describe persistence", "svc infra describe persistence --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.infra()).describeComponent({ component: Component.PERSISTENCE }),
  view: specView,
});
