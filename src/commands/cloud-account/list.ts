import type { ListCloudAccountsResponse } from "../../../gen/svc/v1/cloud_account_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "List cloud credentials",
  examples: ["svc cloud-account list", "svc cloud-account list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.cloudAccounts()).listCloudAccounts({}),
  view: messageTable<ListCloudAccountsResponse>(
    "accounts",
    { id: "ID", name: "Name", kind: "Kind", updatedAt: "Updated" },
    { things: "cloud accounts" },
  ),
});
