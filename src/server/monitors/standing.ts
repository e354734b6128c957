/** The states of a monitor, from one evaluation to the next. */

import { breaks, type Watch } from "../../domain/metrics/monitor.ts";
import type { MonitorStanding, MonitorState } from "../stores/metadata/monitors.ts";

/** What an evaluation found. */
export interface Observed {
  /** Undefined = there is none. */
  readonly value: number | undefined;
  /** Labels of the series that it is of. */
  readonly labels: Readonly<Record<string, string>>;
  /** End of the period that it is of, epoch milliseconds. */
  readonly at: number;
}

/** Milliseconds without an evaluation after which it is not known that the bound stayed broken. */
const MAX_GAP_MS = 10 * 60_000;

/**
 * A monitor after an evaluation. What fires goes on doing so, also without values, until a value
 * keeps the bound.
 * @param maxGapMs milliseconds without an evaluation after which a broken bound counts anew
 */
export function standingAfter(
  key: Pick<MonitorStanding, "environmentId" | "name">,
  before: MonitorStanding | undefined,
  watch: Pick<Watch, "bound" | "isBelow" | "pendingMs">,
  { at, labels, value }: Observed,
  maxGapMs = MAX_GAP_MS,
): MonitorStanding {
  const { brokenSince, firedAt, state } = next(before, watch, value, at, maxGapMs);
  return {
    ...{ environmentId: key.environmentId, name: key.name, state, value, labels, evaluatedAt: at, brokenSince, firedAt },
    since: before?.state === state ? before.since : at,
    toldAt: before?.toldAt,
  };
}

function next(
  before: MonitorStanding | undefined,
  watch: Pick<Watch, "bound" | "isBelow" | "pendingMs">,
  value: number | undefined,
  at: number,
  maxGapMs: number,
): { readonly state: MonitorState } & Pick<MonitorStanding, "brokenSince" | "firedAt"> {
  if (value === undefined) return { state: "no_data", brokenSince: undefined, firedAt: before?.firedAt };
  if (!breaks(watch, value)) return { state: "ok", brokenSince: undefined, firedAt: undefined };
  const isContinued = before !== undefined && at - before.evaluatedAt <= maxGapMs;
  const brokenSince = (isContinued ? before.brokenSince : undefined) ?? at;
  const fires = before?.firedAt !== undefined || at - brokenSince >= watch.pendingMs;
  return fires ? { state: "firing", brokenSince, firedAt: before?.firedAt ?? at } : { state: "pending", brokenSince, firedAt: undefined };
}
