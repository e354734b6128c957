import { defineCommand } from "../../cli/command.ts";
import { bool } from "../../cli/flag.ts";
import { checkNaming, named, namingFlags, notebookArg } from "./notebook-flags.ts";
import { notebookView } from "./notebook-view.ts";

export default defineCommand({
  summary: "Show a notebook and its cells",
  examples: [
    "svc notebook get nb_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e",
    { run: 'svc notebook get --name "First look" --include-outputs --json', does: "With what each cell gave last" },
  ],
  needs: ["session"],
  args: notebookArg,
  flags: { ...namingFlags, includeOutputs: bool("include what each cell gave last", { aliases: ["--outputs"] }) },
  check: checkNaming,
  async run(context, { includeOutputs, ...naming }) {
    return (await context.api.notebooks()).getNotebook({ named: await named(context, naming), includeOutputs });
  },
  view: notebookView,
});
