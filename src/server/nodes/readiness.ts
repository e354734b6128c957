/**
 * Readiness: whether requests should be sent to this node now. Whether it is alive at all is
 * answered by `GET /health`.
 */

import type { Clock } from "../../context/clock.ts";
import { errorText } from "../../domain/error-text.ts";

/**
 * The state of a node. `starting` = its live deployments are not loaded yet; `unavailable` = a
 * store does not answer; `draining` = it is about to stop.
 */
export type ReadinessState = "ready" | "starting" | "unavailable" | "draining";

/** The state, and the reasons why it is not `ready`, a sentence each. */
export interface ReadinessReport {
  readonly state: ReadinessState;
  readonly reasons: readonly string[];
}

/** The readiness of a node. */
export interface Readiness {
  /** The current state. Stores are probed at most once a second, however often this is called. */
  report(): Promise<ReadinessReport>;
  /** Notes that the live deployments run or have failed to start. */
  loaded(): void;
  /** Notes that the node is about to stop: it is never ready again. */
  drain(): void;
}

const PROBE_KEPT_MS = 1_000;
const PROBE_DEADLINE_MS = 5_000;

/**
 * Makes the readiness of a node that is starting.
 * @param options.probes probes of the stores, by the names that reasons use; they reject when a
 * store does not answer
 */
export function createReadiness(options: {
  readonly clock: Clock;
  readonly probes: Readonly<Record<string, () => Promise<unknown>>>;
}): Readiness {
  const { clock, probes } = options;
  let isLoaded = false;
  let isDraining = false;
  let probed: { readonly at: number; readonly failures: Promise<string[]> } | undefined;

  const failureOf = async (name: string, probe: () => Promise<unknown>): Promise<string[]> => {
    const over = new AbortController();
    const late = clock.sleep(PROBE_DEADLINE_MS, over.signal).then(() => {
      throw new Error(`no answer within ${PROBE_DEADLINE_MS / 1_000} s`);
    });
    try {
      await Promise.race([probe(), late]);
      return [];
    } catch (error) {
      return [`The ${name} cannot be used: ${errorText(error)}.`];
    } finally {
      late.catch(() => undefined);
      over.abort();
    }
  };
  const failures = (): Promise<string[]> => {
    const now = clock.now();
    if (!probed || Math.abs(now - probed.at) >= PROBE_KEPT_MS)
      probed = {
        at: now,
        failures: Promise.all(Object.entries(probes).map(([name, probe]) => failureOf(name, probe))).then((all) => all.flat()),
      };
    return probed.failures;
  };

  return {
    async report() {
      if (isDraining) return { state: "draining", reasons: ["The server is about to stop."] };
      const failed = await failures();
      if (failed.length > 0) return { state: "unavailable", reasons: failed };
      return isLoaded ? { state: "ready", reasons: [] } : { state: "starting", reasons: ["The live deployments are being loaded."] };
    },
    loaded() {
      isLoaded = true;
    },
    drain() {
      isDraining = true;
    },
  };
}
