import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { confirm, confirmFlags } from "../../confirm-flags.ts";
import { stateView } from "../state-view.ts";

export default defineCommand({
  summary: "Suspend persistence: computed values are no longer stored",
  description:
    "Queries go on. Their values wait in memory, up to the bound of each writer's queue; values beyond it, and those that wait when the server stops, are dropped and counted (svc infra stats metrics). It holds until persistence is resumed, also over a restart.",
  examples: ["svc infra suspend persistence --yes"],
  needs: ["session"],
  flags: confirmFlags,
  async run(context, { force }) {
    await confirm(
      context,
      { force },
      "Suspend persistence? Values that find no room in memory, or wait when the server stops, are not kept.",
    );
    return (await context.api.infra()).suspendComponent({ component: Component.PERSISTENCE });
  },
  view: stateView("persistence", "suspended"),
});
