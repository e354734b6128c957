/**
 * Whether pods can be without a network: the policy is looked at for each one, and the trial of it
 * counts for a while.
 */

import { keepPolicy } from "./network-policy.ts";
import { type TrialParts, tryPolicy } from "./network-trial.ts";

/** How long a trial counts that showed the policy kept, and one that did not. */
const KEPT_MS = 10 * 60_000;
const REFUSED_MS = 60_000;

/** A trial of one version of the policy. */
interface Trial {
  readonly version: string;
  readonly outcome: Promise<void>;
  /** When its outcome counts no more; undefined while it runs. */
  until: number | undefined;
}

/** The trials of a cluster. */
export class Isolation {
  readonly #parts: TrialParts;
  readonly #now: () => number;
  #last: Trial | undefined;

  /** @param now milliseconds of a clock that nobody sets */
  constructor(parts: TrialParts, now: () => number = () => performance.now()) {
    this.#parts = parts;
    this.#now = now;
  }

  /**
   * Resolves once a pod with these labels is known to have no network. Rejects with Failure, or
   * with the signal's reason.
   */
  async ensure(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const version = await keepPolicy(this.#parts.api, labels, signal);
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    try {
      await Promise.race([this.#trial(version).outcome, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** Has the policy tried again: a pod was seen that it did not cut off. */
  forget(): void {
    this.#last = undefined;
  }

  #trial(version: string): Trial {
    const last = this.#last;
    if (last?.version === version && (last.until === undefined || this.#now() < last.until)) return last;
    const trial: Trial = { version, outcome: tryPolicy(this.#parts), until: undefined };
    const counts = (ms: number) => () => {
      trial.until = this.#now() + ms;
    };
    trial.outcome.then(counts(KEPT_MS), counts(REFUSED_MS));
    this.#last = trial;
    return trial;
  }
}
