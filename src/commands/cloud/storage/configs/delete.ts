import type { DeleteStorageConfigResponse } from "../../../../../gen/svc/v1/storage_config_pb.ts";
import { defineCommand } from "../../../../cli/command.ts";
import { optionalArg } from "../../../../cli/flag.ts";
import { escapeControls } from "../../../../domain/name.ts";
import { resourceFields } from "../../../../output/message-view.ts";
import { confirm, confirmFlags } from "../../../confirm-flags.ts";
import { givenOrPickedConfig } from "./pick-flags.ts";

export default defineCommand({
  summary: "Delete a storage configuration",
  description: "What is in its buckets stays.",
  examples: ["svc cloud storage configs delete sc_0198c0de --yes"],
  needs: ["session"],
  args: { id: optionalArg("id or name; left out: pick") },
  flags: confirmFlags,
  async run(context, { force, id }) {
    const wanted = await givenOrPickedConfig(context, id);
    await confirm(context, { force }, `Delete the storage configuration ${escapeControls(wanted)}? What is in its buckets stays.`);
    return (await context.api.storageConfigs()).deleteStorageConfig({ id: wanted });
  },
  view: resourceFields(({ config }: DeleteStorageConfigResponse) => config, { id: "Deleted" }),
});
