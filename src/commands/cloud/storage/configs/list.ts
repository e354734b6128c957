import type { ListStorageConfigsResponse } from "../../../../../gen/svc/v1/storage_config_pb.ts";
import { defineCommand } from "../../../../cli/command.ts";
import { messageTable } from "../../../../output/message-view.ts";

export default defineCommand({
  summary: "List storage configurations",
  examples: ["svc cloud storage configs list", "svc cloud storage configs list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.storageConfigs()).listStorageConfigs({}),
  view: messageTable<ListStorageConfigsResponse>(
    "configs",
    {
      id: "ID",
      name: "Name",
      designator: { header: "Designator", json: null },
      kind: "Kind",
      managed: "Managed",
      cloudCredentialId: { json: null },
      planStagesBucket: { json: null },
      sourceUploadBucket: { json: null },
      datasetBucket: { json: null },
    },
    { things: "storage configurations" },
  ),
});
