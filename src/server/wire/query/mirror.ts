/**
 * Copies of queries, run on other deployments after their answer was made. A copy writes nothing,
 * and its answer is dropped. Copies are given up rather than waited for: few run at once, and those
 * that come while as many run are dropped and counted.
 */

import { errorText } from "../../../domain/error-text.ts";
import type { Log } from "../../log.ts";
import type { LiveDeployment } from "../../query/live-deployment.ts";
import type { DeploymentLease } from "./endpoint.ts";

/** Starts the copies of a query. Never throws. */
export type Mirror = (
  targets: readonly (() => DeploymentLease | Promise<DeploymentLease>)[],
  run: (deployment: LiveDeployment, signal: AbortSignal) => unknown,
) => void;

/** Most copies that run at once. */
const MAX_RUNNING = 16;
/** Milliseconds after which a copy is given up. */
const TIMEOUT_MS = 30_000;
/** Milliseconds between two warnings about copies that failed or were dropped. */
const WARN_EVERY_MS = 60_000;

/** Makes the runner of copies. */
export function createMirror(log: Log): Mirror {
  const copies = new WeakMap<LiveDeployment, LiveDeployment>();
  let running = 0;
  let dropped = 0;
  let failed = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  const withoutWrites = (deployment: LiveDeployment): LiveDeployment => {
    let copy = copies.get(deployment);
    if (!copy) {
      copy = { ...deployment, online: readOnly(deployment), sink: undefined, sinks: undefined, isMirror: true };
      copies.set(deployment, copy);
    }
    return copy;
  };
  const warn = (error?: unknown): void => {
    if (performance.now() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = performance.now();
    log.warning("mirrored queries failed or were dropped", { failed, dropped, ...(error !== undefined && { last: errorText(error) }) });
  };
  const copyTo = async (acquire: () => DeploymentLease | Promise<DeploymentLease>, run: Parameters<Mirror>[1]): Promise<void> => {
    try {
      const lease = await acquire();
      try {
        await run(withoutWrites(lease.deployment), AbortSignal.timeout(TIMEOUT_MS));
      } finally {
        lease.release();
      }
    } catch (error) {
      failed++;
      warn(error);
    } finally {
      running--;
    }
  };

  return (targets, run) => {
    for (const acquire of targets) {
      if (running >= MAX_RUNNING) {
        dropped++;
        warn();
        continue;
      }
      running++;
      setImmediate(() => void copyTo(acquire, run));
    }
  };
}

/** The online store for reading: writes are forgotten. */
function readOnly({ online }: LiveDeployment): LiveDeployment["online"] {
  return { read: (scope, reads) => online.read(scope, reads), put: () => undefined };
}
