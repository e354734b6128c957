/**
 * When a request is sent again: only when that cannot do anything twice, only for failures that
 * pass, with full jitter, as late as the server asks, and never more than a small share of all
 * requests.
 *
 * The share holds within a process. Commands know nothing of each other, so what they do to a
 * server that is overloaded together is bounded by what each of them may do: a server that refuses
 * without saying when to come back is asked once more and no more, which is at most twice the load.
 * One that says when is obeyed, and a broken connection, which tells of no load, is tried more
 * often.
 */

import type { Clock } from "../context/clock.ts";
import type { Context } from "../context/context.ts";
import type { Redactor } from "./redact.ts";

/**
 * A failure that may pass: the connection broke, or the server said that it is overloaded or not
 * ready.
 */
export interface Transient {
  /** Milliseconds the server asked to wait; undefined = it did not say. */
  readonly retryAfterMs?: number;
  /**
   * Whether the server itself refused, as one that is overloaded does; default: the connection
   * broke.
   */
  readonly refused?: boolean;
}

/** Limits of the policy. */
export interface RetryLimits {
  /** Attempts in all. */
  readonly attempts: number;
  /** Attempts in all when the server refuses and does not say when to come back. */
  readonly refusedAttempts: number;
  /** First longest wait; doubles with every attempt. */
  readonly baseMs: number;
  /** The same after a refusal without a time. */
  readonly refusedBaseMs: number;
  /** Longest wait that is chosen; a longer one that the server asks for ends the attempts. */
  readonly capMs: number;
  /** Longest time from the first attempt to the last. */
  readonly totalMs: number;
  /** Retries that a burst may use before the share of `refill` counts. */
  readonly budget: number;
  /** Retries earned by a request that succeeds. */
  readonly refill: number;
}

/** The limits that commands run with. */
export const RETRY_LIMITS: RetryLimits = {
  attempts: 4,
  refusedAttempts: 2,
  baseMs: 100,
  refusedBaseMs: 1_000,
  capMs: 10_000,
  totalMs: 30_000,
  budget: 10,
  refill: 0.1,
};

/** What the policy depends on. */
export interface RetryDeps {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  /** Told before each wait. */
  readonly onRetry?: (attempt: number, waitMs: number, error: unknown) => void;
  readonly limits?: RetryLimits;
}

/** The policy of one process. */
export interface RetryPolicy {
  /**
   * Runs an attempt, and again while `transient` says that its failure may pass. Rejects with the
   * last failure.
   * @param idempotent whether a second run cannot do anything twice; without it there is one
   * attempt
   */
  run<T>(idempotent: boolean, attempt: () => Promise<T>, transient: (error: unknown) => Transient | undefined): Promise<T>;
}

/** Makes the policy. */
export function createRetryPolicy(deps: RetryDeps): RetryPolicy {
  const limits = deps.limits ?? RETRY_LIMITS;
  const random = deps.random ?? Math.random;
  let budget = limits.budget;
  return {
    async run(idempotent, attempt, transient) {
      const started = deps.clock.now();
      for (let tried = 1; ; tried++) {
        try {
          const result = await attempt();
          budget = Math.min(limits.budget, budget + limits.refill);
          return result;
        } catch (error) {
          const passing = idempotent ? transient(error) : undefined;
          if (!passing || budget < 1 || deps.signal?.aborted) throw error;
          const unasked = passing.refused && passing.retryAfterMs === undefined;
          if (tried >= (unasked ? limits.refusedAttempts : limits.attempts)) throw error;
          const longest = (unasked ? limits.refusedBaseMs : limits.baseMs) * 2 ** (tried - 1);
          const wait = passing.retryAfterMs ?? random() * Math.min(limits.capMs, longest);
          if (wait > limits.capMs || deps.clock.now() - started + wait > limits.totalMs) throw error;
          budget -= 1;
          deps.onRetry?.(tried, wait, error);
          await deps.clock.sleep(wait, deps.signal);
        }
      }
    },
  };
}

/** The policy of a command, which tells with --verbose why it tries again. */
export function createCommandRetries(
  { clock, signal, progress }: Pick<Context, "clock" | "signal" | "progress">,
  redactor: Redactor,
): RetryPolicy {
  return createRetryPolicy({
    clock,
    signal,
    onRetry: (attempt, waitMs, error) =>
      progress.verbose(
        redactor.text(`attempt ${attempt} failed (${error instanceof Error ? error.message : error}); again in ${Math.round(waitMs)} ms`),
      ),
  });
}

/**
 * Milliseconds that a `Retry-After` header asks for: seconds or an HTTP date. Undefined when there
 * is none or it says nothing.
 */
export function retryAfterMs(value: string | null, now: number): number | undefined {
  if (value === null || value.trim() === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(value.trim())) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
