import type { ListOfflineConnectionsResponse } from "../../../../gen/svc/v1/offline_store_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { messageTable } from "../../../output/message-view.ts";

export default defineCommand({
  summary: "List connections",
  description: "Active is the one of the environment.",
  examples: ["svc offline-store connection list", "svc offline-store connection list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.offlineStores()).listOfflineConnections({}),
  view: messageTable<ListOfflineConnectionsResponse>("connections", {
    id: "ID",
    name: "Name",
    type: "Type",
    active: "Active",
    createdAt: "Created",
  }),
});
