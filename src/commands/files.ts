import { defineCommand } from "../cli/command.ts";
import { escapeControls } from "../domain/name.ts";
import { textView } from "../output/view.ts";
import type { ProjectFile } from "../project/project.ts";

export default defineCommand({
  summary: "List files that would be uploaded",
  description:
    "What .gitignore and .svcignore match is left out, in every folder. A .svcignore is read behind the .gitignore beside it: with `!name` it takes back in " +
    "what git ignores.",
  examples: ["svc files", "svc files --json"],
  needs: ["project"],
  async run(context): Promise<readonly ProjectFile[]> {
    const project = await context.project();
    const name = context.flags.environment ?? (await context.settings()).environment.value;
    return await project.files(name);
  },
  view: textView(
    (files: readonly ProjectFile[]) => files.map((file) => escapeControls(file.path)).join("\n"),
    (files: readonly ProjectFile[]) => files.map(({ path, size }) => ({ path, size })),
  ),
});
