import type { ListMonitorsResponse } from "../../../gen/svc/v1/monitor_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { MONITOR_FIELDS } from "./monitor-view.ts";

export default defineCommand({
  summary: "List monitors and their states",
  description:
    "Those of the environment's live deployment, where `Monitor(...)` defines them. Each is evaluated every minute: ok keeps its bound, pending breaks it, " +
    "firing has broken it for as long as it says, no data had no records. Branches and suspended environments have none. Times are UTC.",
  examples: ["svc monitors list", { run: "svc monitors list --json", does: "With queries, webhooks, owners and who silenced them" }],
  needs: ["session"],
  run: async ({ api }) => (await api.monitors()).listMonitors({}),
  view: messageTable<ListMonitorsResponse>("monitors", MONITOR_FIELDS, { things: "monitors" }),
});
