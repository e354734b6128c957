/** Monitors as people read them, in the words of the command line, and as code. */

import type { MonitorJson } from "../../../../gen/svc/v1/graph_pb.ts";
import type { MonitorStandingJson } from "../../../../gen/svc/v1/monitor_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { figureOf } from "../../parts/metric-series.ts";
import type { Tone } from "../../parts/status.tsx";
import { durationMs } from "../define/feature-text.ts";
import { enumWord } from "../run/run-state.ts";

const TONES: Readonly<Record<string, Tone>> = { ok: "good", pending: "warn", firing: "bad" };

/** The state of a monitor in words, and what it means to its reader. */
export function stateOf({ state }: Pick<MonitorStandingJson, "state">): { readonly word: string; readonly tone: Tone } {
  const word = enumWord(state, "MONITOR_STATE_");
  return { word: word === "" || word === "unspecified" ? "not evaluated yet" : word, tone: TONES[word] ?? "dim" };
}

/** The bound of a monitor: `above 80ms for 10m`. */
export function boundText({ above = "", below = "", pendingFor }: MonitorJson): string {
  const bound = above === "" ? `below ${below}` : `above ${above}`;
  return pendingFor === undefined ? bound : `${bound} for ${formatDuration(durationMs(pendingFor))}`;
}

/** A value with its unit and the series that it is of; empty when there is none. */
export function valueText(
  value: number | string | undefined,
  unit: string | undefined,
  labels: Readonly<Record<string, string>> = {},
): string {
  if (value === undefined) return "";
  const series = Object.entries(labels).map(([name, of]) => `${name}:${of}`);
  return [figureOf(unit)(Number(value)), series.join(", ")].filter(Boolean).join(" ");
}

/** The definition of a monitor in Python, as a project has it. */
export function monitorCode(monitor: MonitorJson): string {
  const {
    above = "",
    below = "",
    description = "",
    expression = "",
    name = "",
    owner = "",
    pendingFor,
    severity = "",
    webhooks = [],
  } = monitor;
  const options: readonly (readonly [name: string, value: string])[] = [
    above === "" ? ["below", boundCode(below)] : ["above", boundCode(above)],
    ["for_", pendingFor === undefined ? "" : textCode(formatDuration(durationMs(pendingFor)))],
    ["notify", webhooks.length === 0 ? "" : `[${webhooks.map((webhook) => textCode(`webhook:${webhook}`)).join(", ")}]`],
    ["severity", severity === "" || severity === "warning" ? "" : textCode(severity)],
    ["owner", owner === "" ? "" : textCode(owner)],
    ["description", description === "" ? "" : textCode(description)],
  ];
  const lines = [textCode(name), textCode(expression), ...options.flatMap(([option, value]) => (value === "" ? [] : `${option}=${value}`))];
  return `from svc import Monitor\n\nMonitor(\n${lines.map((line) => `    ${line},\n`).join("")})`;
}

/** A text as Python has it, which reads what JSON writes. */
function textCode(text: string): string {
  return JSON.stringify(text.toWellFormed());
}

function boundCode(bound: string): string {
  return /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(bound) ? bound : textCode(bound);
}
