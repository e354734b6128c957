import type { ListJobsResponse } from "../../../gen/svc/v1/job_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { choice } from "../../cli/flag.ts";
import { ABSENT_JOB_KINDS, JOB_KINDS } from "../../domain/job-kinds.ts";
import { JOB_STATES, type JobStateName } from "../../domain/job-states.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPage, notePage, offsetPageFlags } from "../page-flags.ts";
import { JOB_COLUMNS } from "./job-view.ts";

export default defineCommand({
  summary: "List queue jobs",
  description:
    "Newest first, of all environments unless --environment names one: builds of deployments, approved changes, erasures, and what the server does again and again. A scheduled job waits for its turn, one that " +
    "is not_ready for its time. Jobs of the server itself are shown to those with the permission audit.read; those that ended are kept for 30 days.",
  examples: [
    "svc jobs list",
    { run: "svc jobs list --state scheduled", does: "What waits, and for what" },
    { run: "svc jobs list --kind deployment --state failed --json", does: "Builds that failed" },
  ],
  needs: ["session"],
  flags: {
    state: choice("only those in this state", Object.keys(JOB_STATES) as JobStateName[]),
    kind: choice("only those of this kind", [...JOB_KINDS, ...(Object.keys(ABSENT_JOB_KINDS) as (keyof typeof ABSENT_JOB_KINDS)[])]),
    ...offsetPageFlags,
  },
  check: checkPage,
  async run(context, { kind, limit, offset, pageToken = "", state }) {
    const answer = await (await context.api.jobs()).listJobs({
      states: state === undefined ? [] : [JOB_STATES[state]],
      kinds: kind === undefined ? [] : [kind],
      environment: context.flags.environment ?? "",
      ...{ pageSize: limit, pageToken, offset },
    });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListJobsResponse>("jobs", JOB_COLUMNS),
});
