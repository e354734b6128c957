import { join } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { path } from "../../cli/flag.ts";
import { textView } from "../../output/view.ts";
import { checkNaming, named, namingFlags, notebookArg } from "./notebook-flags.ts";

/** What was written. */
interface Exported {
  readonly id: string;
  readonly path: string;
}

export default defineCommand({
  summary: "Save a notebook as a file of Jupyter",
  description: "The file has the cells and what they gave, in version 4.5 of Jupyter's format.",
  examples: ['svc notebook export --name "First look"', "svc notebook export nb_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e --out look.ipynb"],
  needs: ["session"],
  args: notebookArg,
  flags: { ...namingFlags, out: path("file to write", { placeholder: "<file>", defaultText: "<title>.ipynb" }) },
  check: checkNaming,
  async run(context, { out, ...naming }): Promise<Exported> {
    const notebooks = await context.api.notebooks();
    const { notebook } = await notebooks.getNotebook({ named: await named(context, naming) });
    const { id = "", title = "" } = notebook ?? {};
    const { ipynb } = await notebooks.exportNotebook({ id });
    const file = out ?? join(context.flags.dir, `${fileName(title)}.ipynb`);
    await context.machine.writeFile(file, ipynb);
    return { id, path: file };
  },
  view: textView((exported: Exported) => exported.path),
});

/** A title as the name of a file on every system. */
function fileName(title: string): string {
  return title.replaceAll(/[^\p{L}\p{N} ._-]/gu, "_").replace(/^\.+/, "_") || "notebook";
}
