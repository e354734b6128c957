import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { specView } from "../describe-view.ts";

export default defineCommand({
  summary: "Print the volumes, with measured bytes",
  description: "A volume is a folder of the data directory; the one named data has the files that are in no folder. Volumes are read-only.",
  examples: ["svc infra describe volumes", "svc infra describe volumes --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.infra()).describeComponent({ component: Component.VOLUMES }),
  view: specView,
});
