import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { confirm, confirmFlags } from "../../confirm-flags.ts";
import { stateView } from "../state-view.ts";

export default defineCommand({
  summary: "Suspend the gateway: everything that comes in is refused",
  description:
    "Until it is resumed, also over a restart, the server answers 503 to everything but health, the login, and svc infra resume gateway.",
  examples: ["svc infra suspend gateway --yes"],
  needs: ["session"],
  flags: confirmFlags,
  async run(context, { force }) {
    await confirm(context, { force }, "Suspend the gateway? All queries, deployments and pages are refused until it is resumed.");
    return (await context.api.infra()).suspendComponent({ component: Component.GATEWAY });
  },
  view: stateView("gateway", "suspended"),
});
