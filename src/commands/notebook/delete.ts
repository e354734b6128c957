import type { DeleteNotebookResponse } from "../../../gen/svc/v1/notebook_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { escapeControls } from "../../domain/name.ts";
import { resourceFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { checkNaming, named, namingFlags, notebookArg } from "./notebook-flags.ts";

export default defineCommand({
  summary: "Delete a notebook",
  description: "Its cells and what they gave go with it, and its kernel is stopped.",
  examples: ["svc notebook delete nb_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e --yes"],
  needs: ["session"],
  args: notebookArg,
  flags: { ...namingFlags, ...confirmFlags },
  check: checkNaming,
  async run(context, { force, ...naming }) {
    const notebooks = await context.api.notebooks();
    const { notebook } = await notebooks.getNotebook({ named: await named(context, naming) });
    const { id = "", title = "", cellCount = 0 } = notebook ?? {};
    await confirm(
      context,
      { force },
      `Delete the notebook '${escapeControls(title)}' and its ${cellCount} ${cellCount === 1 ? "cell" : "cells"}?`,
    );
    return notebooks.deleteNotebook({ id });
  },
  view: resourceFields(({ notebook }: DeleteNotebookResponse) => notebook, { id: "Deleted", title: "Name" }),
});
