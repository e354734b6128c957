import type { ListDeploymentsResponse } from "../../../gen/svc/v1/deployment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { int, list, text } from "../../cli/flag.ts";
import { currentBranch } from "../../config/branch.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { messageTable } from "../../output/message-view.ts";
import { deploymentColumns } from "./view.ts";

const MOST = 500;

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
    limit: int("rows at most, 1 to 500", { default: 50, aliases: ["--page-size"] }),
    pageToken: text("continue after a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
  },
  check({ limit }) {
    if (limit < 1 || limit > MOST) throw new UsageError(`--limit takes 1 to ${MOST}`);
  },
  async run(context, { deploymentTag: tags, limit, pageToken = "" }): Promise<ListDeploymentsResponse> {
    const branch = (await currentBranch(context)) ?? "";
    const answer = await (await context.api.deployments()).listDeployments({ branch, tags, pageSize: limit, pageToken });
    if (answer.nextPageToken !== "" && !context.flags.json) context.progress.note(`More: --page-token ${answer.nextPageToken}`);
    return answer;
  },
  view: messageTable<ListDeploymentsResponse>("deployments", deploymentColumns),
});
