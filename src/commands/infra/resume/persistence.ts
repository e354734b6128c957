import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { confirm, confirmFlags } from "../../confirm-flags.ts";
import { stateView } from "../state-view.ts";

export default defineCommand({
  summary: "Resume persistence: computed values are stored again",
  description: "Values that waited are stored.",
  examples: ["svc infra resume persistence --yes"],
  needs: ["session"],
  flags: confirmFlags,
  async run(context, { force }) {
    await confirm(context, { force }, "Resume persistence?");
    return (await context.api.infra()).resumeComponent({ component: Component.PERSISTENCE });
  },
  view: stateView("persistence", "running"),
});
