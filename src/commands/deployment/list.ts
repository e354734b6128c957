import type { ListDeploymentsResponse } from "../../../gen/svc/v1/deployment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { list, text } from "../../cli/flag.ts";
import { currentBranch } from "../../config/branch.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../page-flags.ts";
import { deploymentColumns } from "./view.ts";

export default defineCommand({
  summary: "List deployments, newest first",
  description: "Lists the environment's own deployments, or those of a branch with --branch.",
  examples: [
    "svc deployment list",
    { run: "svc deployment list --tag=blue --limit=5", does: "The last five with a tag" },
    { run: "svc deployment list --branch=try-it --json", does: "Those of a branch" },
  ],
  needs: ["session"],
  flags: {
    deploymentTag: list(text("only deployments with this tag; of several, with all", { aliases: ["--tag"], placeholder: "<tag>" }), {
      split: true,
    }),
    ...pageFlags,
  },
  check: checkPage,
  async run(context, { deploymentTag: tags, limit, pageToken = "" }): Promise<ListDeploymentsResponse> {
    const branch = (await currentBranch(context)) ?? "";
    const answer = await (await context.api.deployments()).listDeployments({ branch, tags, pageSize: limit, pageToken });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListDeploymentsResponse>("deployments", deploymentColumns),
});
