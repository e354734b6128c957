import type { ListPodLifetimesResponse } from "../../../../gen/svc/v1/usage_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { text } from "../../../cli/flag.ts";
import { messageTable } from "../../../output/message-view.ts";
import { checkPeriod, periodFields, periodFlags } from "../period-flags.ts";

export default defineCommand({
  summary: "Show pod lifetimes",
  description:
    "Processes of the platform that ran in the period, newest first; they are known for 90 days. Nothing is requested or limited where a cell is empty.",
  examples: [
    "svc usage resource-group pods",
    { run: "svc usage resource-group pods --service-kind worker --start 24h", does: "Workers of the last day" },
  ],
  needs: ["session"],
  flags: {
    serviceKind: text("service kind: server or worker"),
    resourceGroup: text("resource group to run in"),
    ...periodFlags("7 days ago"),
  },
  check: checkPeriod,
  run: async ({ api }, { end, resourceGroup, serviceKind, start }) =>
    (await api.usage()).listPodLifetimes({
      serviceKind: serviceKind ?? "",
      resourceGroup: resourceGroup ?? "",
      ...periodFields({ start, end }),
    }),
  view: messageTable<ListPodLifetimesResponse>("pods", {
    pod: "Pod",
    startedAt: "Started",
    endedAt: "Ended",
    cpuRequest: "CPU Request",
    cpuLimit: "CPU Limit",
    memoryRequest: "Memory Request",
    memoryLimit: "Memory Limit",
    workloadType: "Workload Type",
    node: "Node",
  }),
});
