/** How many replicas a group should have, as a function of what was measured. No clock, no IO. */

/** How many replicas a group may have, and what another one is started for. */
export interface Bounds {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** Percent of a replica's processors, 1 to 100. */
  readonly targetCpu: number;
}

/** What the replicas of a group used at one time. */
export interface Measure {
  /** Milliseconds. */
  readonly at: number;
  /** How many were measured, at least one. */
  readonly replicas: number;
  /** Percent of their processors, on average. */
  readonly cpu: number;
}

/** Milliseconds for which more are needed until more are started: a peak is no load. */
export const UP_WINDOW_MS = 15_000;
/** Milliseconds for which fewer are enough until some are ended. */
export const DOWN_WINDOW_MS = 300_000;
/** Share by which the use may differ from the target without a change. */
const TOLERANCE = 0.1;

/** How many replicas one measure asks for. */
function askedFor({ cpu, replicas }: Measure, target: number): number {
  const ratio = cpu / target;
  return Math.abs(ratio - 1) <= TOLERANCE ? replicas : Math.ceil(replicas * ratio);
}

/** The most replicas after one step up: twice as many, or four more. */
function mostAfter(current: number): number {
  return Math.max(2 * current, current + 4);
}

/**
 * The number of replicas that a group with `current` ones should have, at least one.
 * @param measures in the order of their times; those older than both windows do not count
 */
export function wantedByLoad(measures: readonly Measure[], bounds: Bounds, current: number, now: number): number {
  const { maxReplicas, minReplicas, targetCpu } = bounds;
  const within = (ms: number): number[] => measures.filter(({ at }) => at > now - ms).map((one) => askedFor(one, targetCpu));
  const covers = (ms: number): boolean => measures.some(({ at }) => at <= now - ms);
  const up = covers(UP_WINDOW_MS) ? Math.min(...within(UP_WINDOW_MS), Number.POSITIVE_INFINITY) : 0;
  const down = covers(DOWN_WINDOW_MS) ? Math.max(...within(DOWN_WINDOW_MS), 0) : Number.POSITIVE_INFINITY;
  const wanted = Number.isFinite(up) && up > current ? Math.min(up, mostAfter(current)) : Math.min(current, down);
  return Math.min(Math.max(wanted, minReplicas, 1), maxReplicas);
}

/** The measures that may still count. */
export function stillCounting(measures: readonly Measure[], now: number): Measure[] {
  const first = measures.findLastIndex(({ at }) => at <= now - DOWN_WINDOW_MS);
  return measures.slice(Math.max(first, 0));
}

/** Milliseconds until a replica is started again after so many that did not stay. */
export function backoffMs(failures: number): number {
  return failures === 0 ? 0 : Math.min(1_000 * 2 ** (failures - 1), 60_000);
}
