/**
 * Load at a fixed rate that does not depend on the server (an open loop): query number n is due n
 * intervals after the start, and its latency counts from then, not from when it could be sent. A
 * stalled server is thus charged for every query that would have been sent meanwhile (coordinated
 * omission).
 */

import { LatencyHistogram } from "../latency-histogram.ts";

/** The rate and duration of a load. */
export interface LoadPlan {
  /** Queries per second. */
  readonly qps: number;
  /** Measured time. */
  readonly durationMs: number;
  /** Time before it under the same load, not measured. */
  readonly warmupMs: number;
  /** Most queries in progress at once; further ones wait, and their latency grows. */
  readonly concurrency: number;
}

/** The outcome of one query. */
export interface LoadSample {
  /** When it was due, from the beginning of the load. */
  readonly dueMs: number;
  /** From the time when it was due to its answer. */
  readonly latencyMs: number;
  /** From the time when it was due, or when another one made room for it, to when it was sent. */
  readonly lateMs: number;
  /** Code of the error; undefined when there was none. */
  readonly error: string | undefined;
  /** False during the warm-up. */
  readonly measured: boolean;
}

/** The outcome of all queries. Only measured ones are counted. */
export interface LoadResult {
  /**
   * Latencies in microseconds. A query that was due and never sent counts with the time for which
   * it had waited when the load ended.
   */
  readonly latencies: LatencyHistogram;
  /** Queries that were due. */
  readonly due: number;
  /** Queries that were answered, with or without errors. */
  readonly answered: number;
  /** Queries that were due and never sent, because too many were in progress. */
  readonly unsent: number;
  /** Failed queries by code. */
  readonly errors: ReadonlyMap<string, number>;
  /** From the end of the warm-up to the last answer. */
  readonly elapsedMs: number;
  /** Whether the signal ended it early. */
  readonly interrupted: boolean;
}

/** The clock of a load. */
export interface LoadClock {
  /** Milliseconds with fractions, from any origin. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Lets other work run for a moment that is shorter than any sleep. */
  yieldToEventLoop(): Promise<void>;
}

/** The clock of the process. */
export const SYSTEM_LOAD_CLOCK: LoadClock = {
  now: () => performance.now(),
  sleep: (ms) => Bun.sleep(ms),
  yieldToEventLoop: () => new Promise((resolve) => setImmediate(resolve)),
};

/** The usual lateness of a timer; the last such interval is spent without sleeping. */
const TIMER_SLACK_MS = 1.5;
/** Longest sleep, so that an interruption is noticed in time. */
const MAX_SLEEP_MS = 100;

/**
 * Runs the load. `send` resolves with the code of the query's error, or undefined, and never
 * rejects; it should end soon once the signal is aborted. Resolves when all queries that were sent
 * have ended.
 */
export async function runLoad(
  plan: LoadPlan,
  send: () => Promise<string | undefined>,
  options: { readonly clock: LoadClock; readonly signal: AbortSignal; readonly onSample?: (sample: LoadSample) => void },
): Promise<LoadResult> {
  const { clock, signal, onSample } = options;
  const latencies = new LatencyHistogram();
  const errors = new Map<string, number>();
  // All times are relative to the start. Added to the clock's value they would be rounded, and now
  // and then there would be one query more or less.
  const start = clock.now();
  const elapsed = () => clock.now() - start;
  const measureFrom = plan.warmupMs;
  const end = measureFrom + plan.durationMs;
  const dueAt = (number: number) => (number * 1000) / plan.qps;
  const underWay = new Set<Promise<void>>();
  /** When there was room for another query again; 0 = there always was. */
  let roomSince = 0;
  let answered = 0;
  let lastAnswer = measureFrom;
  let stoppedAt = end;

  const launch = (due: number): void => {
    const lateMs = elapsed() - Math.max(due, roomSince);
    const work = send().then((error) => {
      underWay.delete(work);
      const now = elapsed();
      if (error !== undefined && signal.aborted) return;
      const sample = { dueMs: due, latencyMs: now - due, lateMs, error, measured: due >= measureFrom };
      onSample?.(sample);
      if (!sample.measured) return;
      answered++;
      lastAnswer = now;
      latencies.record(sample.latencyMs * 1000);
      if (error !== undefined) errors.set(error, (errors.get(error) ?? 0) + 1);
    });
    underWay.add(work);
  };

  let next = 0;
  for (let due = 0; due < end && !signal.aborted; due = dueAt(next)) {
    const now = elapsed();
    if (now < due) {
      const wait = due - now;
      await (wait > TIMER_SLACK_MS ? clock.sleep(Math.min(wait - TIMER_SLACK_MS, MAX_SLEEP_MS)) : clock.yieldToEventLoop());
    } else if (underWay.size >= plan.concurrency) {
      if (now >= end) break;
      await Promise.race([...underWay, clock.sleep(Math.min(end - now, MAX_SLEEP_MS))]);
      roomSince = elapsed();
    } else {
      launch(due);
      next++;
    }
  }
  if (signal.aborted) stoppedAt = Math.min(end, elapsed());

  let unsent = 0;
  for (let number = next; dueAt(number) < stoppedAt; number++) {
    if (dueAt(number) < measureFrom) continue;
    unsent++;
    latencies.record((stoppedAt - dueAt(number)) * 1000);
  }
  await Promise.all(underWay);
  return {
    latencies,
    due: answered + unsent,
    answered,
    unsent,
    errors,
    elapsedMs: Math.max(lastAnswer, Math.max(stoppedAt, measureFrom)) - measureFrom,
    interrupted: signal.aborted,
  };
}
