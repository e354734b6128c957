/**
 * Load at a fixed rate, whatever the server does (an open loop): query number n is due n intervals
 * after the start, and its latency counts from then, not from when it could be sent. So a server
 * that stalls is charged for every query that would have been sent meanwhile (coordinated
 * omission).
 */

import { LatencyHistogram } from "../domain/latency-histogram.ts";

/** How much load, for how long. */
export interface LoadPlan {
  /** Queries per second. */
  readonly qps: number;
  /** Time that is measured. */
  readonly durationMs: number;
  /** Time before, under the same load, that is not. */
  readonly warmupMs: number;
  /** Most queries under way at once; what is due meanwhile waits, and its latency grows. */
  readonly concurrency: number;
}

/** What came of one query. */
export interface LoadSample {
  /** From when it was due to its answer. */
  readonly latencyMs: number;
  /** Code of what went wrong; undefined when nothing did. */
  readonly error: string | undefined;
  /** False during the warm-up. */
  readonly measured: boolean;
}

/** What came of all. Only the measured queries are counted. */
export interface LoadResult {
  /**
   * Latencies in microseconds. Queries that were due and never sent are in it with the time that
   * they had waited when the load ended.
   */
  readonly latencies: LatencyHistogram;
  /** Queries that were due. */
  readonly due: number;
  /** Queries that were answered, with or without errors. */
  readonly answered: number;
  /** Queries that were due and never sent, because too many were under way. */
  readonly unsent: number;
  /** Failed queries by code. */
  readonly errors: ReadonlyMap<string, number>;
  /** From the end of the warm-up to the last answer. */
  readonly elapsedMs: number;
  /** Whether the signal ended it early. */
  readonly interrupted: boolean;
}

/** The time that a load runs on. */
export interface LoadClock {
  /** Milliseconds with fractions, from any origin. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Lets other work go on for a moment that is shorter than any sleep. */
  breathe(): Promise<void>;
}

/** The process's own time. */
export const SYSTEM_LOAD_CLOCK: LoadClock = {
  now: () => performance.now(),
  sleep: (ms) => Bun.sleep(ms),
  breathe: () => new Promise((resolve) => setImmediate(resolve)),
};

/** A timer may be late by about that much, so the last stretch is not slept. */
const TIMER_SLACK_MS = 1.5;
/** A sleep ends in time to see an interruption. */
const LONGEST_SLEEP_MS = 100;

/**
 * Runs the load. `send` resolves with the code of what went wrong, or undefined, and never rejects;
 * it is expected to end soon once the signal is aborted. Resolves when all queries that were sent
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
  // All times are counted from the start: added to the clock's they would be rounded, and the last
  // query now and then be one more or one less.
  const start = clock.now();
  const elapsed = () => clock.now() - start;
  const measureFrom = plan.warmupMs;
  const end = measureFrom + plan.durationMs;
  const dueAt = (number: number) => (number * 1000) / plan.qps;
  const underWay = new Set<Promise<void>>();
  let answered = 0;
  let lastAnswer = measureFrom;
  let stoppedAt = end;

  const launch = (due: number): void => {
    const work = send().then((error) => {
      underWay.delete(work);
      const now = elapsed();
      if (error !== undefined && signal.aborted) return;
      const sample = { latencyMs: now - due, error, measured: due >= measureFrom };
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
      await (wait > TIMER_SLACK_MS ? clock.sleep(Math.min(wait - TIMER_SLACK_MS, LONGEST_SLEEP_MS)) : clock.breathe());
    } else if (underWay.size >= plan.concurrency) {
      if (now >= end) break;
      await Promise.race([...underWay, clock.sleep(Math.min(end - now, LONGEST_SLEEP_MS))]);
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
