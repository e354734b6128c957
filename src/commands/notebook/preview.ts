import { defineCommand } from "../../cli/command.ts";
import { checkNaming, named, namingFlags, notebookArg } from "./notebook-flags.ts";
import { notebookView } from "./notebook-view.ts";

export default defineCommand({
  summary: "Show all cells of a notebook with what they gave",
  description: "Tables are shown as text, images by their type and size. The notebook's page shows them as they are.",
  examples: ["svc notebook preview nb_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e", 'svc notebook preview --name "First look"'],
  needs: ["session"],
  args: notebookArg,
  flags: namingFlags,
  check: checkNaming,
  run: async (context, naming) =>
    (await context.api.notebooks()).getNotebook({ named: await named(context, naming), includeOutputs: true }),
  view: notebookView,
});
