import type { StopKernelResponse } from "../../../gen/svc/v1/notebook_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";
import { checkNaming, namedId, namingFlags, notebookArg } from "./notebook-flags.ts";

export default defineCommand({
  summary: "Stop a running notebook",
  description: "Its kernel is killed with everything that it started, and its names are gone. The cells and what they gave stay.",
  examples: ["svc notebook stop nb_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e", 'svc notebook stop --name "First look"'],
  needs: ["session"],
  args: notebookArg,
  flags: namingFlags,
  check: checkNaming,
  run: async (context, naming) => (await context.api.notebooks()).stopKernel({ notebookId: await namedId(context, naming) }),
  view: textView(
    ({ notebook }: StopKernelResponse) => `Stopped notebook ${escapeControls(notebook?.title ?? "")} (${notebook?.id ?? ""})`,
    ({ notebook }) => ({ id: notebook?.id, title: notebook?.title }),
  ),
});
