import type { SetIncrementalProgressResponse } from "../../../gen/svc/v1/incremental_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { timestamp } from "../../cli/flag.ts";
import { escapeControls } from "../../domain/name.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { checkSubject, PROGRESS_FIELDS, subjectFlags, subjectOf, subjectText } from "./subject-flags.ts";

export default defineCommand({
  summary: "Set progress timestamps",
  description: "The next run goes on from them. A time that lies later than what was read leaves out what lies between.",
  examples: [
    "svc incremental set --resolver recent_transactions --max_ingested_ts 2026-01-01T00:00:00Z",
    { run: "svc incremental set --scheduled-query nightly --last_execution_ts 2026-01-01T00:00:00Z --yes", does: "Without a question" },
  ],
  needs: ["session"],
  flags: {
    ...subjectFlags,
    maxIngestedTs: timestamp("latest time in the data that counts as read, with a zone", {
      requireZone: true,
    }),
    lastExecutionTs: timestamp("when the last run counts as begun, with a zone", { requireZone: true }),
    ...confirmFlags,
  },
  check({ lastExecutionTs, maxIngestedTs, ...given }) {
    checkSubject(given);
    if (maxIngestedTs === undefined && lastExecutionTs === undefined)
      throw new UsageError("give --max_ingested_ts, --last_execution_ts, or both");
  },
  async run(context, { force, lastExecutionTs, maxIngestedTs, ...given }) {
    await confirm(context, { force }, `Set the progress of ${escapeControls(subjectText(given))}?`);
    return (await context.api.incremental()).setIncrementalProgress({
      subject: subjectOf(given),
      ...(maxIngestedTs !== undefined && { maxIngestedAt: msToTimestamp(maxIngestedTs) }),
      ...(lastExecutionTs !== undefined && { lastExecutionAt: msToTimestamp(lastExecutionTs) }),
    });
  },
  view: resourceFields(({ progress }: SetIncrementalProgressResponse) => progress, PROGRESS_FIELDS),
});
