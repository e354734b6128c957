/**
 * The retry policy: a request is repeated only when that cannot have an effect twice, only for
 * transient failures, with full jitter, no earlier than the server asks, and never more than a
 * small share of all requests.
 *
 * The share holds within one process. Commands do not know of each other, so their joint load on an
 * overloaded server is bounded by what each one may do: a server that refuses without saying when
 * to come back is asked once more and then no more, which at most doubles the load. A time that the
 * server states is respected, and a broken connection, which says nothing about load, is retried
 * more often.
 */

import type { Clock } from "../context/clock.ts";
import type { Redactor } from "./redact.ts";
import type { RequestHost } from "./request-host.ts";

/**
 * A transient failure: the connection broke, or the server said that it is overloaded or not ready.
 */
export interface Transient {
  /** Milliseconds that the server asked to wait; undefined when it did not say. */
  readonly retryAfterMs?: number;
  /**
   * Whether the server itself refused, as an overloaded one does; default: the connection broke.
   */
  readonly refused?: boolean;
}

/** Limits of the policy. */
export interface RetryLimits {
  /** Attempts in total. */
  readonly attempts: number;
  /** Attempts in total when the server refuses and does not say when to come back. */
  readonly refusedAttempts: number;
  /** Upper bound of the first wait; doubles with every attempt. */
  readonly baseMs: number;
  /** The same after a refusal without a stated time. */
  readonly refusedBaseMs: number;
  /** Longest wait; when the server asks for a longer one, there are no more attempts. */
  readonly capMs: number;
  /** Longest time from the first attempt to the last. */
  readonly totalMs: number;
  /** Retries available for a burst before the share of `refill` applies. */
  readonly budget: number;
  /** Retries earned by a request that succeeds. */
  readonly refill: number;
}

/** The limits of commands. */
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

/** The dependencies of the policy. */
export interface RetryDeps {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
  /** Called before each wait. */
  readonly onRetry?: (attempt: number, waitMs: number, error: unknown) => void;
  readonly limits?: RetryLimits;
}

/** The retry policy of one process. */
export interface RetryPolicy {
  /**
   * Runs an attempt, and again while `transient` says that its failure is transient. Rejects with
   * the last failure.
   * @param idempotent whether a second run cannot have an effect twice; false allows one attempt
   */
  run<T>(idempotent: boolean, attempt: () => Promise<T>, transient: (error: unknown) => Transient | undefined): Promise<T>;
}

/** A policy with the given limits. */
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

/** The policy of a command, which logs with --verbose why it retries. */
export function createCommandRetries(
  { clock, signal, progress }: Pick<RequestHost, "clock" | "signal" | "progress">,
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
 * Milliseconds that a `Retry-After` header asks for: seconds or an HTTP date. Undefined when it is
 * missing or malformed.
 */
export function retryAfterMs(value: string | null, now: number): number | undefined {
  if (value === null || value.trim() === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(value.trim())) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
