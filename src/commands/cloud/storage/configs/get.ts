import type { GetStorageConfigResponse } from "../../../../../gen/svc/v1/storage_config_pb.ts";
import { defineCommand } from "../../../../cli/command.ts";
import { optionalArg } from "../../../../cli/flag.ts";
import { resourceFields } from "../../../../output/message-view.ts";
import { CONFIG_FIELDS } from "./config-view.ts";
import { givenOrPickedConfig } from "./pick-flags.ts";

export default defineCommand({
  summary: "Show a storage configuration",
  examples: [{ run: "svc cloud storage configs get", does: "Pick one from a list" }, "svc cloud storage configs get sc_0198c0de --json"],
  needs: ["session"],
  args: { id: optionalArg("id or name; left out: pick") },
  async run(context, { id }) {
    const api = await context.api.storageConfigs();
    return api.getStorageConfig({ id: await givenOrPickedConfig(context, id) });
  },
  view: resourceFields(({ config }: GetStorageConfigResponse) => config, CONFIG_FIELDS),
});
