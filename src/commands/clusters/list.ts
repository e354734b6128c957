import type { ListClustersResponse } from "../../../gen/svc/v1/cluster_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "List clusters",
  description: "The platform's own machines are one, clstr_local. Where containers run in Kubernetes, their cluster is another.",
  examples: ["svc clusters list", "svc clusters list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.clusters()).listClusters({}),
  view: messageTable<ListClustersResponse>("clusters", {
    id: "ID",
    name: "Name",
    kind: "Kind",
    createdAt: "Created",
    nodes: { json: false },
  }),
});
