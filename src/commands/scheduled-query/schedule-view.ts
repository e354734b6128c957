import type { ScheduledQueryStanding } from "../../../gen/svc/v1/scheduled_query_pb.ts";
import { readableName } from "../../domain/name.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { timeText } from "../../output/time.ts";

/** What people see of a scheduled query. */
export const SCHEDULE_FIELDS: FieldViews<ScheduledQueryStanding> = {
  name: "Name",
  schedule: "Cron Schedule",
  outputs: { header: "Output Features", cell: ({ outputs }) => outputs.map(readableName).join(", "), flexible: true },
  incrementalResolvers: { header: "Incremental", cell: ({ incrementalResolvers }) => incrementalResolvers.join(", "), flexible: true },
  resourceGroup: "Resource group",
  nextRunAt: { header: "Next Run", cell: ({ nextRunAt, paused }) => (paused ? "paused" : timeText(nextRunAt)) },
};
