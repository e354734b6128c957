import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { specView } from "../describe-view.ts";

export default defineCommand({
  summary: "Print the spec of the gateway",
  description: "Its listeners are those of the API. They are set when the server starts (svc server start --help).",
  examples: ["svc infra describe gateway", "svc infra describe gateway --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.infra()).describeComponent({ component: Component.GATEWAY }),
  view: specView,
});
