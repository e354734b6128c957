import type { ListBranchesResponse } from "../../../gen/svc/v1/deployment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";

export default defineCommand({
  summary: "List branches",
  examples: ["svc branch list", "svc branch list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.deployments()).listBranches({}),
  view: messageTable<ListBranchesResponse>("branches", {
    name: "Name",
    deploys: { header: "Deploys", align: "right" },
    lastDeployedAt: { header: "Last", cell: ({ lastDeployedAt }, style) => age(lastDeployedAt, style) },
  }),
});
