import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { volumeDone } from "./volume-view.ts";

export default defineCommand({
  summary: "Delete a volume",
  description: "All that is in it is gone. Refused while a container has it.",
  examples: ["svc volume delete --name data", "svc volume delete --name data --yes"],
  needs: ["session"],
  flags: { name: text("name or id", { required: true, placeholder: "<name>" }), ...confirmFlags },
  async run(context, { name, force }) {
    const volumes = await context.api.volumes();
    if (!force) {
      const { volume } = await volumes.getVolume({ name });
      await confirm(context, { force }, `Delete the volume ${name} with ${volume?.sizeBytes ?? "all"} bytes in it?`);
    }
    return volumes.deleteVolume({ name });
  },
  view: volumeDone("Deleted"),
});
