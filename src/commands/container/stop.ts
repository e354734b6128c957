import type { StopContainerResponse } from "../../../gen/svc/v1/container_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { resourceFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { checkWhich, whichFlags } from "../container-flags.ts";

export default defineCommand({
  summary: "End a container and remove its disk",
  description: "Its program is told to end, and is killed five seconds later. Volumes stay.",
  examples: ["svc container stop --name cache", "svc container stop --id 0198c0de-4f5a-7b3c-8d9e-0f1a2b3c4d5e --yes"],
  needs: ["session"],
  flags: { ...whichFlags, ...confirmFlags },
  check: checkWhich,
  async run(context, { id, name, force }) {
    const container = id ?? name ?? "";
    await confirm(context, { force }, `End the container ${container}? Its disk is removed.`);
    return (await context.api.containers()).stopContainer({ container });
  },
  view: resourceFields(({ container }: StopContainerResponse) => container, { id: "Stopped", name: "Name" }),
});
