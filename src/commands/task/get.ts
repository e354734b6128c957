import type { GetTaskResponse } from "../../../gen/svc/v1/task_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { pickedTask } from "./task-flags.ts";
import { TASK_FIELDS } from "./task-view.ts";

export default defineCommand({
  summary: "Show a task",
  description: "How it stands, what it was given, how it ended and what it returned. What it printed is in the log.",
  examples: ["svc task get st-0198c0de4f5a7b3c8d9e0f1a2b3c4d5e"],
  needs: ["session"],
  args: { id: optionalArg("id of the task; left out: pick one on a terminal") },
  run: async (context, { id }) => (await context.api.tasks()).getTask({ id: await pickedTask(context, id) }),
  view: resourceFields(({ task }: GetTaskResponse) => task, TASK_FIELDS),
});
