/** A pool whose workers are started by its first call. */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import { failedResult } from "./failures.ts";
import type { PythonPool } from "./pool.ts";

/**
 * Makes a pool of one that is not started yet. When it cannot be started, the calls that wait for
 * it fail, and the next one tries again.
 */
export function createLazyPool(start: (signal: AbortSignal) => Promise<PythonPool>): PythonPool {
  const closing = new AbortController();
  let starting: Promise<PythonPool> | undefined;
  let running: PythonPool | undefined;
  let atLeast = 0;
  const begin = async (): Promise<PythonPool> => {
    const pool = await start(closing.signal);
    if (atLeast > 0) pool.resize?.(atLeast);
    running = pool;
    return pool;
  };
  const started = (): Promise<PythonPool> => {
    starting ??= begin().catch((error: unknown) => {
      starting = undefined;
      throw error;
    });
    return starting;
  };
  return {
    async call(call) {
      if (running) return running.call(call);
      try {
        closing.signal.throwIfAborted();
        return (await started()).call(call);
      } catch (error) {
        return failedResult(call, ErrorCode.RESOLVER_FAILED, `the workers cannot be started: ${errorText(error)}`);
      }
    },
    health: () => running?.health() ?? { workers: 0, degraded: false },
    resize(wanted) {
      atLeast = Math.max(atLeast, wanted);
      running?.resize?.(atLeast);
    },
    async drain(graceMs) {
      closing.abort(new Error("the deployment's workers were stopped"));
      const pool = await starting?.catch(() => undefined);
      await pool?.drain(graceMs);
    },
  };
}
