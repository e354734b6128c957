import type { ListPermissionsResponse } from "../../../gen/svc/v1/service_token_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "List permissions assignable to service tokens",
  alsoAt: ["token permissions"],
  examples: ["svc permissions list", "svc permissions list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.serviceTokens()).listPermissions({}),
  view: messageTable<ListPermissionsResponse>(
    "permissions",
    { name: "Permission", description: "Description" },
    {
      after: ({ roles }) =>
        ["", ...roles.map(({ name, permissions, description }) => `Role ${name}: ${permissions.join(", ")} (${description})`)].join("\n"),
    },
  ),
});
