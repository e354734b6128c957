import { defineCommand } from "../cli/command.ts";
import { escapeControls } from "../domain/name.ts";
import { textView } from "../output/view.ts";
import { refuseUnpackable } from "../project/bundle.ts";
import type { ProjectFile } from "../project/project.ts";
import { secretsLeftOut } from "../project/secrets.ts";

export default defineCommand({
  summary: "List files that would be uploaded",
  category: "Build and deploy",
  description:
    "What .gitignore and .svcignore match is left out, in every folder. A .svcignore is read behind the .gitignore beside it: with `!name` it takes back in " +
    "what git ignores. Files that look like secrets by their name (.env, *.pem, id_rsa and so on) are left out too, unless a .svcignore names them with " +
    "`!name`.",
  examples: ["svc files", "svc files --json"],
  needs: ["project"],
  async run(context): Promise<readonly ProjectFile[]> {
    const project = await context.project();
    const name = context.flags.environment ?? (await context.settings()).environment.value;
    const { files, secrets } = await project.list(name);
    if (secrets.length > 0) context.progress.warn(secretsLeftOut(secrets.map(escapeControls)));
    return files;
  },
  exitCode(files) {
    refuseUnpackable(files);
    return 0;
  },
  view: textView(
    (files: readonly ProjectFile[]) => files.map((file) => escapeControls(file.path)).join("\n"),
    (files: readonly ProjectFile[]) => files.map(({ path, size }) => ({ path, size })),
    { long: true },
  ),
});
