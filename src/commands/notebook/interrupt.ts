import type { InterruptKernelResponse } from "../../../gen/svc/v1/notebook_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";
import { checkNaming, namedId, namingFlags, notebookArg } from "./notebook-flags.ts";

export default defineCommand({
  summary: "Interrupt what a notebook runs",
  description:
    "As Ctrl-C does: the cell that runs ends with KeyboardInterrupt, those that wait are taken back, and the kernel keeps its names.",
  examples: ['svc notebook interrupt --name "First look"'],
  needs: ["session"],
  args: notebookArg,
  flags: namingFlags,
  check: checkNaming,
  run: async (context, naming) => (await context.api.notebooks()).interruptKernel({ notebookId: await namedId(context, naming) }),
  view: textView(
    ({ notebook }: InterruptKernelResponse) => `Interrupted notebook ${escapeControls(notebook?.title ?? "")} (${notebook?.id ?? ""})`,
    ({ notebook }) => ({ id: notebook?.id, title: notebook?.title }),
  ),
});
