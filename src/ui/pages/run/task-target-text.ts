/** What tasks run, in the words of the command line. */

import type { TaskJson } from "../../../../gen/svc/v1/task_pb.ts";
import { targetText } from "../../../domain/task-target.ts";

/** The target of a task as people write it. */
export function taskTarget({ target: { callable = "", module = "", path = "" } = {} }: TaskJson): string {
  return targetText({ callable, module, path });
}
