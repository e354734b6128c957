/** Tasks as tables and lines. */

import { type Task, TaskState, type TaskTarget } from "../../../gen/svc/v1/task_pb.ts";
import { targetText } from "../../domain/task-target.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";

/** The state of a task in a word. */
export function taskState({ state }: Pick<Task, "state">): string {
  switch (state) {
    case TaskState.RECEIVED:
      return "Received";
    case TaskState.RUNNING:
      return "Running";
    case TaskState.SUCCEEDED:
      return "Succeeded";
    case TaskState.FAILED:
      return "Failed";
    case TaskState.CANCELLED:
      return "Cancelled";
    default:
      return "";
  }
}

/** What a task runs, as people write it. */
export function targetOf(target: TaskTarget | undefined): string {
  const { case: kind, value = "" } = target?.code ?? {};
  return targetText({ path: kind === "path" ? value : "", module: kind === "module" ? value : "", callable: target?.callable ?? "" });
}

const attempts = {
  header: "Attempts",
  cell: (task: Task) => `${task.attempts} of ${task.maxRetries + 1}`,
  dispensable: true,
};

/** Columns of a list. */
export const TASK_COLUMNS: FieldViews<Task> = {
  id: "ID",
  target: { header: "Target", cell: ({ target }) => targetOf(target), flexible: true },
  state: { header: "Status", cell: taskState },
  attempts,
  exitCode: { header: "Exit", align: "right", dispensable: true },
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of one. */
export const TASK_FIELDS: FieldViews<Task> = {
  id: "ID",
  target: { header: "Target", cell: ({ target }) => targetOf(target) },
  state: { header: "Status", cell: taskState },
  arguments: { header: "Arguments", cell: argumentsText },
  deploymentId: "Deployment",
  branch: "Branch",
  venv: "Venv",
  resourceGroup: "Resource group",
  attempts,
  exitCode: "Exit code",
  createdAt: "Created",
  startedAt: "Started",
  endedAt: "Ended",
  error: "Error",
  resultJson: "Result",
  workflowId: "Workflow",
  profiling: { header: "Profile", cell: ({ id, profiling }) => (profiling ? `svc task profile ${id}` : "") },
  url: "Page",
};

function argumentsText({ arguments: given }: Task): string {
  const { argsJson = "[]", kwargsJson = "{}" } = given ?? {};
  return [argsJson === "[]" ? "" : argsJson, kwargsJson === "{}" ? "" : kwargsJson].filter((part) => part !== "").join(" ");
}
