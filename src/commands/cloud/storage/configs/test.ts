import type { TestStorageConfigResponse } from "../../../../../gen/svc/v1/storage_config_pb.ts";
import { defineCommand } from "../../../../cli/command.ts";
import { optionalArg } from "../../../../cli/flag.ts";
import { messageTable } from "../../../../output/message-view.ts";
import { CHECK_FIELDS, checksExitCode } from "../../../checks-view.ts";
import { givenOrPickedConfig } from "./pick-flags.ts";

export default defineCommand({
  summary: "Test the buckets of a storage configuration",
  description: "The server puts, gets and deletes one object in each bucket. A failed test ends with exit code 1.",
  examples: ["svc cloud storage configs test sc_0198c0de"],
  needs: ["session"],
  args: { id: optionalArg("id or name; left out: pick") },
  async run(context, { id }) {
    const api = await context.api.storageConfigs();
    return api.testStorageConfig({ id: await givenOrPickedConfig(context, id) });
  },
  exitCode: ({ checks }) => checksExitCode(checks),
  view: messageTable<TestStorageConfigResponse>("checks", CHECK_FIELDS),
});
