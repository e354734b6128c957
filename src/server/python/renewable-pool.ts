/**
 * A pool whose workers can be renewed: the new ones are ready before the old ones take no more
 * calls, so that no call fails or waits.
 */

import { callsIn, type PythonPool } from "./pool.ts";

/** A pool that stands for the one that is used now. */
export interface RenewablePool extends PythonPool {
  /** Sends all further calls to `next`; the workers before end with their running calls. */
  replace(next: PythonPool): void;
}

/** Milliseconds that running calls have when their workers were renewed. */
const RENEWAL_GRACE_MS = 30_000;

/** Makes a renewable pool. `onError` is told when workers that were renewed do not stop. */
export function createRenewablePool(first: PythonPool, onError: (error: unknown) => void): RenewablePool {
  let current = first;
  let size = 0;
  const draining = new Map<PythonPool, Promise<void>>();
  return {
    call: (call) => current.call(call),
    health: (resolver) => current.health(resolver),
    inGroup: (group) => ({
      call: (call) => callsIn(current, group).call(call),
      health: (resolver) => callsIn(current, group).health(resolver),
    }),
    resize(atLeast) {
      size = Math.max(size, atLeast);
      current.resize?.(size);
    },
    replace(next) {
      const before = current;
      current = next;
      next.resize?.(size);
      const done = before
        .drain(RENEWAL_GRACE_MS)
        .catch(onError)
        .finally(() => draining.delete(before));
      draining.set(before, done);
    },
    async drain(graceMs) {
      await Promise.all([current.drain(graceMs), ...[...draining.keys()].map((pool) => pool.drain(graceMs).catch(onError))]);
    },
  };
}
