/** How a task is named. */

import type { Context } from "../../context/context.ts";
import { givenOrPicked } from "../pick-flags.ts";
import { targetOf, taskState } from "./task-view.ts";

/** The id of a task that was given, or that somebody picks on a terminal. */
export function pickedTask(context: Context, given: string | undefined): Promise<string> {
  return givenOrPicked(context, given, {
    question: "Which task?",
    flag: "<id>",
    list: async () =>
      (await (await context.api.tasks()).listTasks({})).tasks.map((task) => ({
        id: task.id,
        name: `${targetOf(task.target)} ${taskState(task)}`,
      })),
  });
}
