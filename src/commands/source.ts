import { join } from "node:path";
import { defineCommand } from "../cli/command.ts";
import { optionalArg, path } from "../cli/flag.ts";
import { currentBranch } from "../config/branch.ts";
import { CliError } from "../errors/cli-error.ts";
import { textView } from "../output/view.ts";

/** The folder that a deployment's source was unpacked into. */
export interface SourceFolder {
  readonly deployment_id: string;
  readonly path: string;
  readonly files: number;
}

export default defineCommand({
  summary: "Download and extract deployment source",
  category: "Build and deploy",
  description: "The archive is unpacked as a whole or not at all; one that names absolute paths, `..` or links is refused.",
  examples: [
    "svc source",
    { run: "svc source --branch=try-it", does: "Extract what a branch runs" },
    { run: "svc source dpl_0198c0de --output-dir ./old", does: "Extract one deployment into a folder" },
  ],
  needs: ["session"],
  args: {
    id: optionalArg("deployment id; left out: the latest deployment of --branch, or of the environment", { names: "deployment" }),
  },
  flags: {
    outputDir: path("folder to extract into; it must not exist", {
      aliases: ["--out"],
      defaultText: "a new temporary folder",
      placeholder: "<folder>",
    }),
  },
  async run(context, { id, outputDir }): Promise<SourceFolder> {
    const { api, http, machine } = context;
    const { deployment, url } = await (await api.deployments()).getSource({ target: id ?? (await currentBranch(context)) ?? "" });
    if (!deployment) throw new CliError("the server named no deployment for this source", { code: "broken_answer" });
    const fresh = outputDir === undefined ? await machine.makeTempDir("svc-source-") : undefined;
    const folder = outputDir ?? join(fresh ?? "", deployment.id);
    try {
      const files = await http.downloadSource(url, folder);
      return { deployment_id: deployment.id, path: folder, files: files.length };
    } catch (error) {
      if (fresh !== undefined) await machine.remove(fresh);
      throw error;
    }
  },
  view: textView((source: SourceFolder) => source.path),
});
