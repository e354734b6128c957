import { buildInfo } from "../build-info.ts";
import { defineCommand } from "../cli/command.ts";
import { validateProject } from "../deploy/validate.ts";
import { UsageError } from "../errors/cli-error.ts";
import { textView } from "../output/view.ts";
import { serveEditor } from "../project/editor/serve.ts";

export default defineCommand({
  summary: "Serve editors: findings, fixes, completion, renaming",
  category: "Build and deploy",
  description:
    "Speaks the language server protocol on stdin and stdout until the editor ends it. Findings of the text come while you type, those of the imported " +
    "code when you save. Set it as the language server for Python and SQL files of a project, beside the one you have.",
  examples: ["svc lsp"],
  check(_, { flags }) {
    if (flags.json) throw new UsageError("svc lsp speaks JSON already, and has no --json");
  },
  run: (context) => serveEditor(context, buildInfo.version, (project) => validateProject(project, { remote: false })),
  exitCode: (inOrder: boolean) => (inOrder ? 0 : 1),
  view: textView(() => ""),
});
