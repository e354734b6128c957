import type { SilenceMonitorResponse } from "../../../gen/svc/v1/monitor_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, bool, duration, text, timestamp } from "../../cli/flag.ts";
import { msToDuration, msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { MONITOR_FIELDS } from "./monitor-view.ts";

export default defineCommand({
  summary: "Have webhooks not be told of a monitor for a time",
  description:
    "The monitor is evaluated all the same. If it fires when the silence is over, webhooks are told then. A silence takes the place of the one before, is of at " +
    "most 30 days, and needs no approval: it changes nothing that runs. Others see who silenced it, and why.",
  examples: [
    { run: "svc monitors silence slow_fraud --for 2h --reason 'a migration runs'", does: "For two hours" },
    { run: "svc monitors silence slow_fraud --until 2026-12-01T08:00:00Z", does: "Until a time" },
    { run: "svc monitors silence slow_fraud --end", does: "No longer" },
  ],
  needs: ["session"],
  args: { name: arg("name of the monitor") },
  flags: {
    for: duration("how long"),
    until: timestamp("when it is over"),
    end: bool("end the silence"),
    reason: text("why, for others", { placeholder: "<text>" }),
  },
  check({ end, for: lasting, reason, until }) {
    const ways = [lasting !== undefined, until !== undefined, end].filter(Boolean).length;
    if (ways !== 1)
      throw new UsageError(ways === 0 ? "nothing says when the silence ends" : "only one of --for, --until and --end can be given", {
        hint: "Give --for 2h, --until TIME or --end.",
      });
    if (end && reason !== undefined) throw new UsageError("--reason is for a silence, and --end ends one");
    if (lasting !== undefined && !(lasting > 0 && Number.isFinite(lasting))) throw new UsageError("--for is no time that ends");
  },
  async run({ api }, { end, for: lasting, name, reason = "", until }) {
    const monitors = await api.monitors();
    if (end) return monitors.endMonitorSilence({ name });
    const time =
      until === undefined
        ? { case: "duration" as const, value: msToDuration(lasting ?? 0) }
        : { case: "until" as const, value: msToTimestamp(until) };
    return monitors.silenceMonitor({ name, end: time, reason });
  },
  view: resourceFields(({ monitor }: Pick<SilenceMonitorResponse, "monitor">) => monitor, MONITOR_FIELDS),
});
