import type { CancelTaskResponse } from "../../../gen/svc/v1/task_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { pickedTask } from "./task-flags.ts";
import { targetOf, taskState } from "./task-view.ts";

export default defineCommand({
  summary: "Cancel a task",
  description: "A task that runs is asked to end, and killed after five seconds with everything that it started.",
  examples: ["svc task cancel st-0198c0de4f5a7b3c8d9e0f1a2b3c4d5e"],
  needs: ["session"],
  args: { id: optionalArg("id of the task; left out: pick one on a terminal") },
  run: async (context, { id }) => (await context.api.tasks()).cancelTask({ id: await pickedTask(context, id) }),
  view: resourceFields(({ task }: CancelTaskResponse) => task, {
    id: "ID",
    target: { header: "Target", cell: ({ target }) => targetOf(target) },
    state: { header: "Status", cell: taskState },
    url: "Page",
  }),
});
