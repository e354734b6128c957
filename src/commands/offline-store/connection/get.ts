import type { GetOfflineConnectionResponse } from "../../../../gen/svc/v1/offline_store_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { resourceFields } from "../../../output/message-view.ts";
import { connectionArgs } from "./connection-kinds-flags.ts";

export default defineCommand({
  summary: "Show a connection",
  description: "Secrets are masked.",
  examples: ["svc offline-store connection get", "svc offline-store connection get osc_0198c0de --json"],
  needs: ["session"],
  args: connectionArgs,
  run: async ({ api }, { id = "" }) => (await api.offlineStores()).getOfflineConnection({ id }),
  view: resourceFields(({ connection }: GetOfflineConnectionResponse) => connection, {
    id: "ID",
    name: "Name",
    type: "Type",
    active: "Active",
    settings: {
      header: "Settings",
      cell: ({ settings }) =>
        Object.entries(settings)
          .map(([name, value]) => `${name}=${value}`)
          .join(", "),
    },
    createdAt: "Created",
    updatedAt: "Updated",
  }),
});
