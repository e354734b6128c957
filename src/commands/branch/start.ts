import type { StartBranchResponse } from "../../../gen/svc/v1/deployment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { currentBranch } from "../../config/branch.ts";
import { escapeControls } from "../../domain/name.ts";
import { CliError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";

export default defineCommand({
  summary: "Start the branch server",
  description:
    "The branch is that of --branch, else the one that git has checked out. Its workers start, and stop again when nobody asked them for ten minutes; queries with " +
    "--branch start them too. When nothing is live on the branch, the project is deployed to it first.",
  examples: ["svc branch start --branch=try-it", { run: "svc branch start", does: "For the branch that git has checked out" }],
  needs: ["session"],
  async run(context): Promise<StartBranchResponse> {
    const flags = { ...context.flags, branch: context.flags.branch ?? (true as const) };
    const named = { ...context, flags };
    const branch = (await currentBranch(named)) ?? "";
    const deployments = await context.api.deployments();
    return deployments.startBranch({ branch }).catch(async (error: unknown) => {
      if (!(error instanceof CliError) || error.code !== "not_found" || (await context.projectName()) === undefined) throw error;
      await (await import("../../deploy/deploy-branch.ts")).deployBranch(context, branch);
      return deployments.startBranch({ branch });
    });
  },
  view: textView(
    ({ deployment }: StartBranchResponse) =>
      `Branch server is running: ${escapeControls(deployment?.branch ?? "")} with ${deployment?.id ?? ""}`,
    ({ deployment }) => ({ branch: deployment?.branch, deployment_id: deployment?.id }),
  ),
});
