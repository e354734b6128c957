import type { ListWebhooksResponse } from "../../../gen/svc/v1/webhook_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { WEBHOOK_COLUMNS } from "./webhook-view.ts";

export default defineCommand({
  summary: "List webhooks",
  examples: ["svc webhook list", "svc webhook list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.webhooks()).listWebhooks({}),
  view: messageTable<ListWebhooksResponse>("webhooks", WEBHOOK_COLUMNS),
});
