import type { ListPodsResponse } from "../../gen/svc/v1/cluster_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { messageTable } from "../output/message-view.ts";
import { age } from "../output/time.ts";

export default defineCommand({
  summary: "Show pod status",
  category: "Server and account",
  description:
    "A pod is a process of the platform, such as a server or a Python worker of a deployment, or a container or sandbox that has not ended. Those in Kubernetes have the nodes of their cluster.",
  examples: ["svc pods", { run: "svc pods --json", does: "With memory and processor time" }],
  needs: ["session"],
  run: async ({ api }) => (await api.clusters()).listPods({}),
  view: messageTable<ListPodsResponse>("pods", {
    name: "Name",
    status: "Status",
    ready: { header: "Ready", cell: ({ ready }) => (ready ? "1/1" : "0/1") },
    resourceGroup: "Resource group",
    restarts: { header: "Restarts", align: "right" },
    startedAt: { header: "Age", cell: ({ startedAt }, style) => age(startedAt, style) },
    node: "Node",
  }),
});
