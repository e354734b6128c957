/**
 * Changes that people may be looking at: what writes something that is shown notes it on the bus,
 * once it can be read. A note says of what an environment has something new, never what.
 */

import type { Bus } from "./bus.ts";

/** What a change is of. */
export type ChangeTopic = "deployments" | "runs" | "schedules" | "queries" | "logs" | "metrics" | "monitors" | "streams" | "notebooks";

/** A change of an environment. */
export interface Change {
  readonly topic: ChangeTopic;
  readonly environmentId: string;
}

/** Notes a change on all nodes; one of no environment, which nobody looks at so, is not told. */
export function noteChange(bus: Bus, topic: ChangeTopic, environmentId: string): void {
  if (environmentId !== "") bus.publish("changes", `${topic}/${environmentId}`);
}

/** The change of a notification; undefined = anything may have changed. */
export function changeOf(id: string): Change | undefined {
  const at = id.indexOf("/");
  return at < 0 ? undefined : { topic: id.slice(0, at) as ChangeTopic, environmentId: id.slice(at + 1) };
}
