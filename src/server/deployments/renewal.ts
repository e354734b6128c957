/**
 * Renewal of a running deployment: when the variables of its environment have changed, its sources
 * are connected anew and its workers replaced, one renewal at a time.
 */

import type { EnvironmentVariables } from "../secrets/secrets.ts";

/** What a renewal reads and changes. */
export interface RenewalSteps {
  /** The variables as they are now. */
  readonly read: () => Promise<EnvironmentVariables>;
  /** Starts workers with the variables, then sends calls to them. */
  readonly replaceWorkers: (variables: EnvironmentVariables, signal: AbortSignal) => Promise<void>;
  readonly replaceSources: (variables: EnvironmentVariables) => Promise<void>;
  /** Called when workers do not start with the variables. The next `renew` tries again. */
  readonly failed: () => void;
}

/** The renewals of one deployment. */
export interface Renewal {
  /**
   * Renews what the variables have changed for. Resolves when that is done, or has failed; when a
   * renewal runs already, another one follows it.
   */
  readonly renew: () => Promise<void>;
  /** Renews no more, and waits for a renewal that runs. */
  readonly stop: () => Promise<void>;
}

/** Makes the renewal of a deployment that was started with some variables. */
export function createRenewal(first: EnvironmentVariables, steps: RenewalSteps): Renewal {
  const stopping = new AbortController();
  let env = workersText(first);
  let integrations = JSON.stringify(first.integrations);
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;

  const renewOnce = async (): Promise<void> => {
    next = undefined;
    if (stopping.signal.aborted) return;
    const variables = await steps.read();
    if (JSON.stringify(variables.integrations) !== integrations) {
      await steps.replaceSources(variables);
      integrations = JSON.stringify(variables.integrations);
    }
    if (workersText(variables) !== env) {
      await steps.replaceWorkers(variables, stopping.signal);
      env = workersText(variables);
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

/** What workers are given, as text. */
export function workersText({ env, plain }: EnvironmentVariables): string {
  return JSON.stringify([plain, env]);
}
