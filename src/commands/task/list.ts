import { type ListTasksResponse, TaskState } from "../../../gen/svc/v1/task_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { choice, text, timestamp } from "../../cli/flag.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../page-flags.ts";
import { TASK_COLUMNS } from "./task-view.ts";

const STATES = {
  received: TaskState.RECEIVED,
  running: TaskState.RUNNING,
  succeeded: TaskState.SUCCEEDED,
  failed: TaskState.FAILED,
  cancelled: TaskState.CANCELLED,
} as const;

export default defineCommand({
  summary: "List tasks, newest first",
  description: "Those that ended are kept for 90 days.",
  examples: ["svc task list", { run: "svc task list --state failed --start 24h", does: "What failed since yesterday" }],
  needs: ["session"],
  flags: {
    state: choice("only those in this state", Object.keys(STATES) as (keyof typeof STATES)[]),
    workflow: text("only those that were begun together, by the id of their workflow", { placeholder: "<id>" }),
    start: timestamp("earliest creation", { aliases: ["--start-time"] }),
    end: timestamp("latest creation", { aliases: ["--end-time"] }),
    ...pageFlags,
  },
  check: checkPage,
  async run(context, { state, workflow = "", start, end, limit, pageToken = "" }) {
    const answer = await (await context.api.tasks()).listTasks({
      ...{ workflowId: workflow, states: state === undefined ? [] : [STATES[state]], pageSize: limit, pageToken },
      ...(start !== undefined && { since: msToTimestamp(start) }),
      ...(end !== undefined && { until: msToTimestamp(end) }),
    });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListTasksResponse>("tasks", TASK_COLUMNS),
});
