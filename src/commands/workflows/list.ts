import type { ListWorkflowsResponse } from "../../../gen/svc/v1/workflow_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { choice, int, text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../page-flags.ts";
import { WORKFLOW_COLUMNS, WORKFLOW_KINDS, WORKFLOW_STATUSES } from "./workflow-view.ts";

const FURTHEST = 10_000;

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
    ...pageFlags,
    limit: { ...pageFlags.limit, aliases: ["-L", ...pageFlags.limit.aliases] },
    offset: int("rows to skip before the first one, at most 10000", { default: 0 }),
  },
  check({ limit, offset, pageToken }) {
    checkPage({ limit });
    if (offset < 0 || offset > FURTHEST) throw new UsageError(`--offset takes 0 to ${FURTHEST}; --page-token reaches further`);
    if (offset > 0 && pageToken !== undefined) throw new UsageError("--offset and --page-token do not go together");
  },
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
