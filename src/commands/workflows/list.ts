import type { ListWorkflowsResponse } from "../../../gen/svc/v1/workflow_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { choice, text } from "../../cli/flag.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, offsetPageFlags } from "../page-flags.ts";
import { WORKFLOW_COLUMNS, WORKFLOW_KINDS, WORKFLOW_STATUSES } from "./workflow-view.ts";

export default defineCommand({
  summary: "List workflow executions",
  description:
    "Newest first. A workflow is what was asked for once, by somebody or by a schedule, and the jobs that do it: a run of a resolver is one of a single " +
    "operation. Those that ended are kept for 30 days.",
  examples: ["svc workflows list", { run: "svc workflows list --kind cron --status failed", does: "Runs by schedules that failed" }],
  needs: ["session"],
  flags: {
    deploymentId: text("only those of this deployment", { aliases: ["--deployment"], placeholder: "<deployment>" }),
    kind: choice("only those of this kind", Object.keys(WORKFLOW_KINDS) as (keyof typeof WORKFLOW_KINDS)[]),
    status: choice("only those in this status", Object.keys(WORKFLOW_STATUSES) as (keyof typeof WORKFLOW_STATUSES)[]),
    id: text("only those whose id contains this", { aliases: ["--search"], placeholder: "<part>" }),
    ...offsetPageFlags,
  },
  check: checkPage,
  async run(context, { deploymentId = "", kind, status, id = "", limit, pageToken = "", offset }) {
    const answer = await (await context.api.workflows()).listWorkflows({
      ...{ deploymentId, idPart: id, pageSize: limit, pageToken, offset },
      ...(kind !== undefined && { kind: WORKFLOW_KINDS[kind] }),
      ...(status !== undefined && { status: WORKFLOW_STATUSES[status] }),
    });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListWorkflowsResponse>("workflows", WORKFLOW_COLUMNS),
});
