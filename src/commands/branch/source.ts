import { join } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { bool, path, text } from "../../cli/flag.ts";
import { currentBranch } from "../../config/branch.ts";
import type { Context } from "../../context/context.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import type { SourceFolder } from "../source.ts";

export default defineCommand({
  summary: "Download branch source",
  description: "Without --branch and --deployment-id the branch is picked from a list.",
  examples: [
    { run: "svc branch source --branch=try-it --latest", does: "Extract the branch's latest deployment" },
    "svc branch source --deployment-id dpl_0198c0de --output-dir ./old",
  ],
  needs: ["session"],
  flags: {
    deploymentId: text("deployment id", { aliases: ["--deployment"], placeholder: "<id>", names: "deployment" }),
    outputDir: path("folder to extract into; it must not exist", {
      aliases: ["--out"],
      defaultText: "the deployment id",
      placeholder: "<folder>",
    }),
    latest: bool("use the latest deployment"),
  },
  check({ deploymentId, latest }) {
    if (deploymentId !== undefined && latest) throw new UsageError("--deployment-id and --latest exclude each other");
  },
  async run(context, { deploymentId, outputDir, latest }): Promise<SourceFolder> {
    const { api, flags, http } = context;
    const target = deploymentId ?? (await chooseDeployment(context, latest));
    const { deployment, url } = await (await api.deployments()).getSource({ target });
    if (!deployment) throw new CliError("the server named no deployment for this source", { code: "broken_answer" });
    const folder = outputDir ?? join(flags.dir, deployment.id);
    const files = await http.downloadSource(url, folder);
    return { deployment_id: deployment.id, path: folder, files: files.length };
  },
  view: textView((source: SourceFolder) => source.path),
});

async function chooseDeployment(context: Context, latest: boolean): Promise<string> {
  const { api, flags, io, prompt } = context;
  const deployments = await api.deployments();
  const given = await currentBranch(context);
  const { branches } = given !== undefined ? { branches: [] } : await deployments.listBranches({});
  if (given === undefined && branches.length === 0) throw new CliError("there are no branches", { code: "not_found" });
  const branch =
    given ??
    (await prompt.pick(
      "Which branch?",
      branches.map(({ name, deploys }) => ({ label: name, value: name, hint: `${deploys} deploys` })),
      "--branch",
    ));
  if (latest || !io.stdinIsTTY || flags.json) return branch;
  const { deployments: all } = await deployments.listDeployments({ branch });
  if (all.length < 2) return branch;
  return prompt.pick(
    "Which deployment?",
    all.map(({ id, description }) => ({ label: id, value: id, hint: description })),
    "--deployment-id",
  );
}
