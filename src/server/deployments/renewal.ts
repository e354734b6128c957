/**
 * Renewal of a running deployment: when the variables of its environment or its resource groups
 * have changed, its sources are connected anew and its workers replaced, one renewal at a time.
 */

import type { EnvironmentVariables } from "../secrets/secrets.ts";

/** What a renewal reads and changes. */
export interface RenewalSteps<Given extends Pick<EnvironmentVariables, "integrations">> {
  /** What sources and workers are given now. */
  readonly read: () => Promise<Given>;
  /** What workers are given of that, as text. */
  readonly text: (given: Given) => string;
  /** Starts workers with it, then sends calls to them. */
  readonly replaceWorkers: (given: Given, signal: AbortSignal) => Promise<void>;
  readonly replaceSources: (given: Given) => Promise<void>;
  /** Called when workers do not start with it. The next `renew` tries again. */
  readonly failed: () => void;
}

/** The renewals of one deployment. */
export interface Renewal {
  /**
   * Renews what has changed. Resolves when that is done, or has failed; when a
   * renewal runs already, another one follows it.
   */
  readonly renew: () => Promise<void>;
  /** Renews no more, and waits for a renewal that runs. */
  readonly stop: () => Promise<void>;
}

/** Makes the renewal of a deployment from what it was started with. */
export function createRenewal<Given extends Pick<EnvironmentVariables, "integrations">>(first: Given, steps: RenewalSteps<Given>): Renewal {
  const stopping = new AbortController();
  let workers = steps.text(first);
  let integrations = JSON.stringify(first.integrations);
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;

  const renewOnce = async (): Promise<void> => {
    next = undefined;
    if (stopping.signal.aborted) return;
    const given = await steps.read();
    if (JSON.stringify(given.integrations) !== integrations) {
      await steps.replaceSources(given);
      integrations = JSON.stringify(given.integrations);
    }
    if (steps.text(given) !== workers) {
      await steps.replaceWorkers(given, stopping.signal);
      workers = steps.text(given);
    }
  };

  return {
    renew() {
      if (next) return next;
      running = running.then(renewOnce).catch(() => {
        if (!stopping.signal.aborted) steps.failed();
      });
      next = running;
      return running;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
