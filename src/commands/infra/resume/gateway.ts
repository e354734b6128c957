import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { confirm, confirmFlags } from "../../confirm-flags.ts";
import { stateView } from "../state-view.ts";

export default defineCommand({
  summary: "Resume the gateway: requests are answered again",
  description: "It works while the gateway is suspended, for those who have the permission infra.write.",
  examples: ["svc infra resume gateway --yes"],
  needs: ["session"],
  flags: confirmFlags,
  async run(context, { force }) {
    await confirm(context, { force }, "Resume the gateway?");
    return (await context.api.infra()).resumeComponent({ component: Component.GATEWAY });
  },
  view: stateView("gateway", "running"),
});
