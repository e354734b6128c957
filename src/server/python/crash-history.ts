/**
 * History of workers that crashed: it attributes crashes to resolvers, and refuses calls after too
 * many.
 */

import type { Clock } from "../../context/clock.ts";

/** Milliseconds for which a crash counts. */
const WINDOW_MS = 60_000;
/** Crashes of one resolver within the window at which that resolver is refused. */
const RESOLVER_LIMIT = 3;
/** Crashes within the window, attributed to no resolver, at which the pool refuses every call. */
const POOL_LIMIT = 5;
/** Longest wait before a worker is started again. */
const LONGEST_DELAY_MS = 1_000;

interface Crash {
  readonly at: number;
  readonly failure: string;
  /**
   * The resolver to which it is attributed: the only one running; undefined when none or several
   * were.
   */
  readonly resolver: string | undefined;
}

/** The crashes of a pool within the last minute. */
export class CrashHistory {
  /** The message of the last crash, even when it no longer counts; undefined before the first. */
  lastFailure: string | undefined;
  private crashes: Crash[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly deploymentId: string,
  ) {}

  /** @param running FQNs of the resolvers that the worker was running */
  record(failure: string, running: readonly string[]): void {
    this.lastFailure = failure;
    this.crashes.push({ at: this.clock.now(), failure, resolver: running.length === 1 ? running[0] : undefined });
  }

  /** Whether every call is refused. */
  degraded(): boolean {
    return this.recent().filter((crash) => crash.resolver === undefined).length >= POOL_LIMIT;
  }

  /**
   * Reason why a resolver is not run for now, as a phrase that follows its name; undefined = it is
   * run.
   */
  refusal(resolver: string): string | undefined {
    if (this.degraded())
      return `was not run: the Python workers of deployment ${this.deploymentId} crashed ${POOL_LIMIT} times within a minute and are stopped for now. Last failure: ${this.lastFailure}`;
    const own = this.recent().filter((crash) => crash.resolver === resolver);
    if (own.length < RESOLVER_LIMIT) return undefined;
    return `was not run: it crashed ${own.length} Python workers within a minute and is stopped for now; other resolvers run. Last failure: ${own.at(-1)?.failure}`;
  }

  /** Milliseconds to wait before the next worker is started. */
  delay(): number {
    const count = this.recent().length;
    return count > 1 ? Math.min(100 * 2 ** (count - 2), LONGEST_DELAY_MS) : 0;
  }

  private recent(): readonly Crash[] {
    const now = this.clock.now();
    this.crashes = this.crashes.filter(({ at }) => at > now - WINDOW_MS && at <= now);
    return this.crashes;
  }
}
