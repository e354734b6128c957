/** Monitors as people see them. */

import type { Monitor } from "../../../gen/svc/v1/graph_pb.ts";
import { MetricUnit } from "../../../gen/svc/v1/metric_pb.ts";
import { type MonitorStanding, MonitorState } from "../../../gen/svc/v1/monitor_pb.ts";
import { formatDuration } from "../../domain/duration.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { metricValueText } from "../../output/metric-value.ts";
import { timeText } from "../../output/time.ts";
import type { Style } from "../../output/view.ts";

const STATES: Readonly<Record<MonitorState, string>> = {
  [MonitorState.UNSPECIFIED]: "not evaluated yet",
  [MonitorState.OK]: "ok",
  [MonitorState.PENDING]: "pending",
  [MonitorState.FIRING]: "firing",
  [MonitorState.NO_DATA]: "no data",
};

/** A value in a unit; `-` when there is none. */
export function valueText(value: number | undefined, unit: MetricUnit): string {
  if (value === undefined) return "-";
  if (unit === MetricUnit.SECONDS) return metricValueText(value, "seconds");
  return metricValueText(value, unit === MetricUnit.BYTES ? "bytes" : "one");
}

/** The bound of a monitor: `above 80ms for 10m`. */
export function boundText(monitor: Monitor | undefined): string {
  if (!monitor) return "";
  const { above, below, pendingFor } = monitor;
  const bound = above === "" ? `below ${below}` : `above ${above}`;
  return pendingFor ? `${bound} for ${formatDuration(durationToMs(pendingFor))}` : bound;
}

/** Labels of a series: `query_name:fraud`; empty for one without. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}:${value}`)
    .join(", ");
}

function marked(text: string, style: Style, { state }: MonitorStanding): string {
  if (state === MonitorState.FIRING) return style.red(text);
  if (state === MonitorState.OK) return style.green(text);
  return state === MonitorState.PENDING ? style.yellow(text) : style.dim(text);
}

/** The fields that people see of a monitor. */
export const MONITOR_FIELDS: FieldViews<MonitorStanding> = {
  monitor: { header: "Name", cell: ({ monitor }) => monitor?.name ?? "" },
  state: { header: "State", cell: ({ state }) => STATES[state] ?? "", style: marked },
  since: "Since",
  value: {
    header: "Value",
    align: "right",
    cell: ({ labels, unit, value }) => [valueText(value, unit), labelsText(labels)].filter(Boolean).join(" "),
  },
  bound: { header: "Fires", cell: ({ monitor }) => boundText(monitor) },
  silence: { header: "Silenced until", cell: ({ silence }) => (silence ? timeText(silence.until) : "") },
};
