import { basename, resolve } from "node:path";
import type { ImportNotebookResponse } from "../../../gen/svc/v1/notebook_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, text } from "../../cli/flag.ts";
import { CliError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";

export default defineCommand({
  summary: "Make a notebook of a file of Jupyter",
  description:
    "Its cells and what they gave are kept; nothing is run. Magics and shell commands of IPython are kept as they are, and fail when they run.",
  examples: ["svc notebook import look.ipynb", 'svc notebook import look.ipynb --name "First look"'],
  needs: ["session"],
  args: { file: arg("file that Jupyter saved: look.ipynb") },
  flags: { name: text("title; default: the file's name", { aliases: ["--title"], placeholder: "<title>" }) },
  async run({ api, flags, machine }, { file, name }) {
    const ipynb = await machine.readText(resolve(flags.dir, file));
    if (ipynb === undefined) throw new CliError(`there is no file ${file}`, { code: "not_found" });
    return (await api.notebooks()).importNotebook({
      ipynb,
      title:
        name ??
        basename(file)
          .replace(/\.ipynb$/i, "")
          .trim(),
    });
  },
  view: resourceFields(({ notebook }: ImportNotebookResponse) => notebook, {
    id: "ID",
    title: "Name",
    cellCount: "Cells",
    url: { header: "URL", ifAny: true },
  }),
});
