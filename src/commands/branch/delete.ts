import type { DeleteBranchResponse } from "../../../gen/svc/v1/deployment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { currentBranch } from "../../config/branch.ts";
import type { Context } from "../../context/context.ts";
import { escapeControls } from "../../domain/name.ts";
import { CliError } from "../../errors/cli-error.ts";
import { messageFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { givenOrPicked } from "../pick-flags.ts";

export default defineCommand({
  summary: "Delete a branch",
  description: "Its deployments, their sources and the online values of the branch go with it. The environment's own stay.",
  examples: ["svc branch delete try-it", "svc branch delete try-it --yes"],
  needs: ["session"],
  args: { name: optionalArg("name of the branch; default: that of --branch", { names: "branch" }) },
  flags: confirmFlags,
  async run(context, { force, name }) {
    const deployments = await context.api.deployments();
    const { branches } = await deployments.listBranches({});
    const branch = await chosen(context, name, branches);
    const known = branches.find((one) => one.name === branch);
    if (!known) throw new CliError(`there is no branch '${branch}'`, { code: "not_found", hint: "`svc branch list` shows the branches." });
    const deploys = `${known.deploys} ${known.deploys === 1 ? "deployment" : "deployments"}`;
    await confirm(context, { force }, `Delete branch ${escapeControls(branch)}, its ${deploys} and its online values?`);
    return deployments.deleteBranch({ branch });
  },
  view: messageFields<DeleteBranchResponse>({ branch: "Deleted", deployments: "Deployments" }),
});

async function chosen(context: Context, name: string | undefined, branches: readonly { readonly name: string }[]): Promise<string> {
  return givenOrPicked(context, name ?? (await currentBranch(context)), {
    question: "Which branch?",
    flag: "<name>",
    list: async () => branches.map((one) => ({ id: one.name, name: one.name })),
  });
}
