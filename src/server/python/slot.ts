/** A worker's place in the pool, and the calls that were sent to it. */

import type { ResolverCall, ResolverResult } from "./pool.ts";
import type { Worker } from "./worker.ts";

/**
 * A call that has no result yet, or whose worker still has to be rid of it. Times are those of
 * `performance.now()`.
 */
export interface Pending {
  /** Its id on the worker that has it; a call that is sent again gets another. */
  id: number;
  readonly call: ResolverCall;
  readonly isAsync: boolean;
  /** Time allowed, in milliseconds. */
  readonly limitMs: number;
  readonly deadline: number;
  /** Gives the caller its result; later results are ignored. */
  readonly resolve: (result: ResolverResult) => void;
  /** Whether the caller has its result. */
  settled: boolean;
  /** Whether the worker was asked to give it back because another call holds it up. */
  recalled: boolean;
  /** When the worker is killed unless it has given the call up by then. */
  killAt: number;
}

/** A worker with its calls. */
export class Slot {
  state: "starting" | "ready" | "ending" = "starting";
  /** Calls for the main thread, in the order in which it takes them; the first one is running. */
  queue: Pending[] = [];
  /** Calls on the event loop. */
  readonly concurrent = new Map<number, Pending>();
  /** When the first of the queue began, as far as can be told from here. */
  headSince = 0;
  /** Milliseconds that the queue is expected to take. */
  expectedMs = 0;
  /** The call that the worker is killed for. */
  overrunner: Pending | undefined;
  readonly worker: Worker;
  constructor(start: (slot: Slot) => Worker) {
    this.worker = start(this);
  }

  /** Every call that this worker has. */
  *pending(): Generator<Pending> {
    yield* this.queue;
    yield* this.concurrent.values();
  }

  /** Takes out the call of a RESULT frame. */
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
