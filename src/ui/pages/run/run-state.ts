/** States of what runs, in the words of the command line. */

import type { Tone } from "../../parts/status.tsx";

/** The word of an enum's value: `JOB_STATE_NOT_READY` with `JOB_STATE_` is `not ready`. */
export function enumWord(value: string | undefined, prefix: string): string {
  return (value ?? "").replace(prefix, "").toLowerCase().replaceAll("_", " ");
}

const TONES: Readonly<Record<string, Tone>> = {
  running: "busy",
  working: "busy",
  writing: "busy",
  starting: "busy",
  ready: "good",
  delivering: "busy",
  completed: "good",
  complete: "good",
  succeeded: "good",
  delivered: "good",
  failed: "bad",
  error: "bad",
  dead: "bad",
  lost: "bad",
  unreachable: "bad",
  paused: "warn",
  retrying: "warn",
  canceled: "warn",
  cancelled: "warn",
};

/** What a state means to its reader; those that wait are dim. */
export function stateTone(word: string): Tone {
  return TONES[word] ?? "dim";
}

/** Whether a state can still change by itself. */
export function isGoingOn(word: string): boolean {
  return ["queued", "received", "running", "scheduled", "not ready", "working", "pending", "delivering", "writing"].includes(word);
}

/** The kinds of runs by the form of their ids: a number is that of a job. */
export function runKindOf(id: string): "job" | "workflow" | "offline query" | "task" {
  if (id.startsWith("st-")) return "task";
  if (id.startsWith("wf_")) return "workflow";
  return id.startsWith("ofq_") && !id.includes(".") ? "offline query" : "job";
}

/** Milliseconds from one time to another, or to now; undefined before the first. */
export function tookMs(from: string | undefined, to: string | undefined, now: number): number | undefined {
  return from === undefined ? undefined : Math.max(0, (to === undefined ? now : Date.parse(to)) - Date.parse(from));
}
