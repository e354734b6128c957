import { OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import type { TriggerScheduledQueryResponse } from "../../../gen/svc/v1/scheduled_query_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { messageFields } from "../../output/message-view.ts";
import { checkResourceGroup, resourceGroupFlag } from "../resource-group-flags.ts";

export default defineCommand({
  summary: "Start a scheduled query now",
  description: "A run is an offline query, which the command does not wait for: `svc offline-queries get` shows how far it has got.",
  examples: ["svc scheduled-query trigger --name nightly", "svc scheduled-query trigger --name nightly --json"],
  needs: ["session"],
  flags: {
    name: text("name of the scheduled query", { required: true, placeholder: "<query>" }),
    resourceGroup: resourceGroupFlag("that of the query"),
  },
  check: ({ resourceGroup }) => checkResourceGroup(resourceGroup),
  run: async ({ api }, { name, resourceGroup = "" }) => (await api.scheduledQueries()).triggerScheduledQuery({ name, resourceGroup }),
  view: messageFields<TriggerScheduledQueryResponse>({
    id: "ID",
    status: { header: "Status", cell: ({ status }) => (status === OfflineQueryStatus.QUEUED ? "Received" : "") },
    url: "URL",
  }),
});
