import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { optionalArg } from "../../../cli/flag.ts";
import { specView } from "../describe-view.ts";

export default defineCommand({
  summary: "Print the telemetry spec of a namespace or of the cluster",
  description: "A namespace is an environment, or server for what belongs to none.",
  examples: ["svc infra describe telemetry", "svc infra describe telemetry server"],
  needs: ["session"],
  args: { namespace: optionalArg("namespace; left out: the whole cluster", { names: "environment" }) },
  run: async ({ api }, { namespace = "" }) => (await api.infra()).describeComponent({ component: Component.TELEMETRY, namespace }),
  view: specView,
});
