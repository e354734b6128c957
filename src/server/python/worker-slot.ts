/** A worker of the pool with the calls that were sent to it. */

import type { ResolverCall, ResolverResult, WorkerObserver } from "./pool.ts";
import type { Worker } from "./worker.ts";

/**
 * A call without a result, or one that timed out and still occupies its worker. Times are those of
 * `performance.now()`.
 */
export interface Pending {
  /** Its id on its worker; a call that is sent again gets a new one. */
  id: number;
  readonly call: ResolverCall;
  readonly isAsync: boolean;
  /** Time allowed, in milliseconds. */
  readonly limitMs: number;
  /** Brought forward when the caller ends the call. */
  deadline: number;
  /** Resolves the caller's promise; later results are ignored. */
  readonly resolve: (result: ResolverResult) => void;
  /** Whether the caller has its result. */
  settled: boolean;
  /** Whether it was requested back from the worker, because a slow call is before it. */
  recalled: boolean;
  /** Time at which the worker is killed unless it has given the call up; Infinity = none. */
  killAt: number;
}

/** A worker with its calls. */
export class WorkerSlot {
  state: "starting" | "ready" | "ending" = "starting";
  /** Calls for the worker's main thread, in order; the first one is running. */
  queue: Pending[] = [];
  /** Calls on the worker's event loop. */
  readonly concurrent = new Map<number, Pending>();
  /** Estimated time at which the first call of the queue began. */
  headSince = 0;
  /** Milliseconds that the queue is expected to take. */
  expectedMs = 0;
  /** The call because of which the worker is killed. */
  overrunner: Pending | undefined;
  /** What is told of the process; undefined when nobody observes. */
  seen: ReturnType<WorkerObserver["began"]> | undefined;
  readonly worker: Worker;
  constructor(start: (slot: WorkerSlot) => Worker) {
    this.worker = start(this);
  }

  /** All calls of this worker. */
  *pending(): Generator<Pending> {
    yield* this.queue;
    yield* this.concurrent.values();
  }

  /** Removes the call of a RESULT frame; returns it. */
  take(id: number): Pending | undefined {
    const concurrent = this.concurrent.get(id);
    if (concurrent) {
      this.concurrent.delete(id);
      return concurrent;
    }
    if (this.queue[0]?.id === id) {
      this.headSince = performance.now();
      return this.queue.shift();
    }
    const at = this.queue.findIndex((pending) => pending.id === id);
    return at < 0 ? undefined : this.queue.splice(at, 1)[0];
  }
}
