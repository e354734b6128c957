import type { GetIncrementalProgressResponse } from "../../../gen/svc/v1/incremental_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { resourceFields } from "../../output/message-view.ts";
import { checkSubject, PROGRESS_FIELDS, subjectFlags, subjectOf } from "./subject-flags.ts";

export default defineCommand({
  summary: "Show progress of an incremental resolver or scheduled query",
  description:
    "The latest time in the data that was read, and when the last whole run began. The next run reads from the first of them on, less the lookback that its " +
    "definition gives.",
  examples: [
    "svc incremental status --resolver recent_transactions",
    { run: "svc incremental status --scheduled-query nightly --json", does: "With exact times" },
  ],
  needs: ["session"],
  flags: subjectFlags,
  check: checkSubject,
  run: async ({ api }, given) => (await api.incremental()).getIncrementalProgress({ subject: subjectOf(given) }),
  view: resourceFields(({ progress }: GetIncrementalProgressResponse) => progress, PROGRESS_FIELDS),
});
