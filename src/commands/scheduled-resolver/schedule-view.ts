import type { ScheduledResolver } from "../../../gen/svc/v1/resolver_run_pb.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { timeText } from "../../output/time.ts";

/** What people see of a scheduled resolver. */
export const SCHEDULE_FIELDS: FieldViews<ScheduledResolver> = {
  resolver: { header: "Resolver FQN", flexible: true },
  schedule: "Cron Schedule",
  nextRunAt: { header: "Next Run", cell: ({ nextRunAt, paused }) => (paused ? "paused" : timeText(nextRunAt)) },
  lastRunAt: "Last Run",
  filter: "Filter",
  sample: { header: "Sample", flexible: true },
};
