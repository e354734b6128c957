/** Pools whose number of workers is stated, or none. */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { failedResult } from "./failures.ts";
import type { PythonPool } from "./pool.ts";

/** A pool of as many workers as are stated once it serves, rather than as many as others have. */
export function withReplicas(pool: PythonPool, replicas: number): PythonPool {
  return {
    call: (call) => pool.call(call),
    health: (resolver) => pool.health(resolver),
    resize: () => pool.resize?.(replicas),
    drain: (graceMs) => pool.drain(graceMs),
  };
}

/** A pool that fails all calls for a reason, a sentence without its end. */
export function withoutWorkersBecause(reason: string): PythonPool {
  return {
    async call(call) {
      return failedResult(call, ErrorCode.RESOLVER_FAILED, `${call.resolver} cannot run: ${reason}`);
    },
    health: () => ({ workers: 0, degraded: false, lastFailure: reason }),
    async drain() {},
  };
}
