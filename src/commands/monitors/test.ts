import type { TestMonitorResponse } from "../../../gen/svc/v1/monitor_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, timestamp } from "../../cli/flag.ts";
import { formatDuration } from "../../domain/duration.ts";
import { durationToMs, msToDuration, timestampToMs } from "../../domain/proto-time.ts";
import { messageTable } from "../../output/message-view.ts";
import { timeText } from "../../output/time.ts";
import { boundText, labelsText, valueText } from "./monitor-view.ts";

export default defineCommand({
  summary: "Replay a monitor over what was recorded",
  description:
    "Evaluates the monitor of the live deployment again for each minute of a time until now, and lists when it would have fired. Records are kept by the " +
    "minute for two days; of a monitor whose period is a multiple of 10m, up to 30 days can be tested. Nobody is told.",
  examples: ["svc monitors test slow_fraud", { run: "svc monitors test slow_fraud --since 36h --json", does: "With exact times" }],
  needs: ["session"],
  args: { name: arg("name of the monitor") },
  flags: { since: timestamp("beginning of the time; default: a day ago, or more for long periods") },
  async run({ api, clock, progress }, { name, since }) {
    const lasting = since === undefined ? undefined : msToDuration(clock.now() - since);
    const answer = await (await api.monitors()).testMonitor({ name, ...(lasting && { since: lasting }) });
    progress.note(summaryOf(answer));
    return answer;
  },
  view: messageTable<TestMonitorResponse>(
    "firings",
    {
      firedAt: "Fired",
      resolvedAt: { header: "Resolved", cell: ({ resolvedAt }) => (resolvedAt ? timeText(resolvedAt) : "still firing") },
      labels: { header: "Series", cell: ({ labels }) => labelsText(labels) },
      worstValue: {
        header: "Worst value",
        align: "right",
        cell: ({ unit, worstValue }) => valueText(worstValue, unit),
      },
    },
    { things: "firings" },
  ),
});

/** What was tested, in one sentence. */
function summaryOf({ broken, evaluations, from, monitor, omitted, step, until, withoutValue }: TestMonitorResponse): string {
  const every = step ? formatDuration(durationToMs(step)) : "";
  const range = from && until ? `${timeText(from)} to ${timeText(until)}` : "";
  const more = omitted > 0 ? `; ${omitted} more firings are not shown` : "";
  const without = withoutValue > 0 ? `, and ${withoutValue} without a value` : "";
  const lasted = from && until ? formatDuration(timestampToMs(until) - timestampToMs(from)) : "";
  return `${monitor?.expression}, ${boundText(monitor)}: ${evaluations} evaluations every ${every} in ${lasted} (${range}), ${broken} beyond the bound${without}${more}.`;
}
