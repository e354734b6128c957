import { JobState, type ListJobsResponse } from "../../../gen/svc/v1/job_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { choice, int, text } from "../../cli/flag.ts";
import { JOB_KINDS } from "../../domain/job-kinds.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { messageTable } from "../../output/message-view.ts";
import { JOB_COLUMNS } from "./job-view.ts";

const STATES = {
  scheduled: JobState.SCHEDULED,
  running: JobState.RUNNING,
  completed: JobState.COMPLETED,
  failed: JobState.FAILED,
  canceled: JobState.CANCELED,
  not_ready: JobState.NOT_READY,
} as const;
const MOST = 500;
const FURTHEST = 10_000;

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
    state: choice("only those in this state", ["scheduled", "running", "completed", "failed", "canceled", "not_ready"]),
    kind: choice("only those of this kind", JOB_KINDS),
    limit: int("rows at most, 1 to 500", { default: 50, aliases: ["-L", "--page-size"] }),
    offset: int("rows to skip before the first one, at most 10000", { default: 0 }),
    pageToken: text("continue after a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
  },
  check({ limit, offset, pageToken }) {
    if (limit < 1 || limit > MOST) throw new UsageError(`--limit takes 1 to ${MOST}`);
    if (offset < 0 || offset > FURTHEST) throw new UsageError(`--offset takes 0 to ${FURTHEST}; --page-token reaches further`);
    if (offset > 0 && pageToken !== undefined) throw new UsageError("--offset and --page-token do not go together");
  },
  async run({ api, flags, progress }, { kind, limit, offset, pageToken = "", state }) {
    const answer = await (await api.jobs()).listJobs({
      states: state === undefined ? [] : [STATES[state]],
      kinds: kind === undefined ? [] : [kind],
      environment: flags.environment ?? "",
      ...{ pageSize: limit, pageToken, offset },
    });
    if (answer.nextPageToken !== "" && !flags.json) progress.note(`More: --page-token ${answer.nextPageToken}`);
    return answer;
  },
  view: messageTable<ListJobsResponse>("jobs", JOB_COLUMNS),
});
