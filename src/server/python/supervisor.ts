/**
 * Which worker runs which call, deadlines, and what happens when a worker hangs or dies.
 *
 * Calls go to an idle worker. They are pipelined behind others only while those are expected to be done within a millisecond; the rest wait here,
 * where the first worker that comes free takes them. When a call turns out slow, those behind it are taken back and given to others.
 */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { type FeatureValue, tagged, untagged } from "../../domain/value.ts";
import { within } from "../../python/subprocess.ts";
import { crashed, failedResult, killedWith, named, type RaisedError, raised, timedOut } from "./failures.ts";
import type { Message } from "./frames.ts";
import type { PoolHealth, PythonPool, ResolverCall, ResolverResult, WorkerLog } from "./pool.ts";
import { type Pending, Slot } from "./slot.ts";
import { type LoadedResolver, Worker, type WorkerEnding, type WorkerSpec } from "./worker.ts";

/** What a supervisor is made with. */
export interface SupervisorOptions {
  /** How workers are started. */
  readonly spec: WorkerSpec;
  /** Number of workers. */
  readonly size: number;
  readonly onLog: (line: WorkerLog) => void;
  readonly clock: Clock;
  readonly deploymentId: string;
  /** Time allowed for a call that names none. */
  readonly defaultTimeoutMs: number;
  /** Called when everything has ended. */
  readonly onEnd: () => Promise<void>;
}

/** Expected work that may lie before a call on a worker, in milliseconds. */
const PIPELINE_MS = 1;
/** Running time after which the calls behind a call are taken back. */
const SLOW_MS = 20;
/** Time between the deadline and the kill. */
const GRACE_MS = 250;
/** Time that a worker has to end by itself. */
const EXIT_MS = 1_000;
/** Crashes within a minute after which the pool refuses calls. */
const CRASH_LIMIT = 5;
const CRASH_WINDOW_MS = 60_000;

/** Runs calls on the workers of one deployment. */
export class Supervisor implements PythonPool {
  private readonly slots = new Set<Slot>();
  private readonly loaded = new Map<string, LoadedResolver>();
  /** Calls that no worker has. */
  private waiting: Pending[] = [];
  /** Milliseconds that a call of a resolver takes, averaged over the last ones. */
  private readonly usualMs = new Map<string, number>();
  private crashes: number[] = [];
  private lastFailure: string | undefined;
  private nextId = 1;
  private closing = false;
  private replacing = 0;
  private wakeAt = Number.POSITIVE_INFINITY;
  private timer: Timer | undefined;
  private onIdle: (() => void) | undefined;

  constructor(private readonly options: SupervisorOptions) {}

  /** Starts the workers and returns the resolvers that the first one has loaded. Throws WorkerStartError. */
  async start(): Promise<ReadonlyMap<string, LoadedResolver>> {
    const first = this.spawn();
    await first.worker.ready;
    while (this.slots.size < this.options.size) this.spawn();
    return first.worker.resolvers;
  }

  call(call: ResolverCall): Promise<ResolverResult> {
    if (call.rows === 0) return Promise.resolve({ columns: {}, errors: [], ranMs: 0 });
    const refusal = this.refusal(call);
    if (refusal !== undefined) return Promise.resolve(failedResult(call, ErrorCode.RESOLVER_FAILED, refusal));
    const limitMs = call.deadlineMs > 0 ? call.deadlineMs : this.options.defaultTimeoutMs;
    return new Promise((resolve) => {
      const pending: Pending = {
        id: 0,
        call,
        isAsync: this.loaded.get(call.resolver)?.isAsync ?? false,
        limitMs,
        deadline: performance.now() + limitMs,
        resolve,
        settled: false,
        recalled: false,
        killAt: Number.POSITIVE_INFINITY,
      };
      this.wakeBy(pending.deadline);
      const slot = this.waiting.length > 0 && !pending.isAsync ? undefined : this.slotFor(pending);
      if (slot) this.send(slot, pending);
      else this.waiting.push(pending);
    });
  }

  health(): PoolHealth {
    const workers = [...this.slots].filter((slot) => slot.state === "ready").length;
    return { workers, degraded: this.degraded(), ...(this.lastFailure !== undefined && { lastFailure: this.lastFailure }) };
  }

  async drain(graceMs: number): Promise<void> {
    this.closing = true;
    await within(graceMs, this.idle());
    const left = [...this.waiting, ...[...this.slots].flatMap((slot) => [...slot.pending()])];
    for (const pending of left)
      this.settle(pending, failedResult(pending.call, ErrorCode.RESOLVER_FAILED, "the deployment's workers were stopped"));
    this.waiting = [];
    const ended = Promise.all([...this.slots].map((slot) => slot.worker.ended));
    for (const slot of this.slots) {
      const isIdle = slot.state === "ready" && slot.queue.length === 0 && slot.concurrent.size === 0;
      slot.state = "ending";
      if (isIdle) slot.worker.drain();
      else slot.worker.kill();
    }
    await within(EXIT_MS, ended);
    for (const slot of this.slots) slot.worker.kill();
    await ended;
    clearTimeout(this.timer);
    await this.options.onEnd();
  }

  private refusal(call: ResolverCall): string | undefined {
    if (this.closing) return "the deployment's workers are being stopped";
    if (!this.loaded.has(call.resolver)) return `resolver '${call.resolver}' is not defined in the deployment's Python code`;
    if (this.degraded())
      return `${named(call.resolver, this.loaded.get(call.resolver))} was not run: the Python workers of deployment ${this.options.deploymentId} crashed ${CRASH_LIMIT} times within a minute and are stopped for now. Last failure: ${this.lastFailure}`;
    if (this.slots.size === 0 && this.replacing === 0) this.replace(0);
    return undefined;
  }

  private degraded(): boolean {
    const since = this.options.clock.now() - CRASH_WINDOW_MS;
    this.crashes = this.crashes.filter((at) => at > since);
    return this.crashes.length >= CRASH_LIMIT;
  }

  private spawn(): Slot {
    const slot = new Slot(
      (owner) =>
        new Worker(this.options.spec, {
          onResult: (message) => this.received(owner, message),
          onLog: (line) => this.options.onLog(line),
          onEnd: (ending) => this.ended(owner, ending),
        }),
    );
    this.slots.add(slot);
    slot.worker.ready.then(
      () => {
        for (const [fqn, resolver] of slot.worker.resolvers) this.loaded.set(fqn, resolver);
        if (slot.state === "starting") slot.state = "ready";
        this.pump();
      },
      () => slot.worker.kill(),
    );
    return slot;
  }

  /** The worker that should run a call now; undefined when it should wait. */
  private slotFor(pending: Pending): Slot | undefined {
    let best: Slot | undefined;
    for (const slot of this.slots) {
      if (slot.state !== "ready") continue;
      if (pending.isAsync) {
        if (!best || slot.concurrent.size < best.concurrent.size) best = slot;
      } else if (slot.queue.length === 0) return slot;
      else if (slot.expectedMs < (best?.expectedMs ?? PIPELINE_MS) && performance.now() - slot.headSince < SLOW_MS) best = slot;
    }
    return best;
  }

  private send(slot: Slot, pending: Pending): void {
    const { call } = pending;
    pending.id = this.nextId++;
    if (pending.isAsync) slot.concurrent.set(pending.id, pending);
    else {
      if (slot.queue.length === 0) slot.headSince = performance.now();
      else this.wakeBy(slot.headSince + SLOW_MS);
      slot.queue.push(pending);
      slot.expectedMs += this.expected(call);
    }
    const columns: Record<string, unknown> = {};
    for (const [name, values] of Object.entries(call.columns)) columns[name] = values.map(tagged);
    const { queryContext, ...context } = call.context;
    const message = {
      type: "CALL",
      id: pending.id,
      resolver: call.resolver,
      rows: call.rows,
      columns,
      now: this.loaded.get(call.resolver)?.usesNow ? call.now : [],
      context: { ...context, queryContext: tagged(queryContext as { [name: string]: FeatureValue }) },
    };
    slot.worker.call(message, pending.isAsync);
  }

  /** Until a resolver is known its calls are expected to be slow, so that none waits behind them. */
  private expected(call: ResolverCall): number {
    return this.usualMs.get(call.resolver) ?? PIPELINE_MS;
  }

  private pump(): void {
    while (this.waiting.length > 0) {
      const pending = this.waiting[0] as Pending;
      const slot = pending.settled ? undefined : this.slotFor(pending);
      if (!slot && !pending.settled) return;
      this.waiting.shift();
      if (slot) this.send(slot, pending);
    }
  }

  private received(slot: Slot, message: Message): void {
    const pending = slot.take(Number(message.id));
    if (!pending) return;
    if (!pending.isAsync) slot.expectedMs = slot.queue.length === 0 ? 0 : Math.max(0, slot.expectedMs - this.expected(pending.call));
    if (message.cancelled === true) {
      if (!pending.settled) {
        pending.recalled = false;
        this.waiting.unshift(pending);
      }
    } else {
      const ranMs = Number(message.ranMs);
      this.usualMs.set(pending.call.resolver, (this.usualMs.get(pending.call.resolver) ?? ranMs) * 0.8 + ranMs * 0.2);
      if (!pending.settled) this.settle(pending, resultOf(pending.call, message, ranMs));
    }
    if (this.waiting.length > 0) this.pump();
  }

  private settle(pending: Pending, result: ResolverResult): void {
    if (pending.settled) return;
    pending.settled = true;
    pending.resolve(result);
    if (this.onIdle && this.unsettled() === 0) this.onIdle();
  }

  private unsettled(): number {
    const sent = [...this.slots].flatMap((slot) => [...slot.pending()]);
    return [...sent, ...this.waiting].filter((pending) => !pending.settled).length;
  }

  private idle(): Promise<void> {
    if (this.unsettled() === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.onIdle = resolve;
    });
  }

  /** Sees to it that `supervise` runs at that time at the latest. */
  private wakeBy(at: number): void {
    if (at >= this.wakeAt) return;
    this.wakeAt = at;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.supervise(), Math.max(0, at - performance.now()));
  }

  private supervise(): void {
    const now = performance.now();
    this.wakeAt = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const slot of this.slots) {
      const head = slot.queue[0];
      for (const pending of slot.pending()) {
        const began = pending.isAsync || pending === head;
        if (!pending.settled && pending.deadline <= now) this.expire(slot, pending, began, now);
        if (pending.killAt <= now && slot.state !== "ending") {
          slot.state = "ending";
          slot.overrunner = pending;
          slot.worker.kill();
        }
        next = Math.min(next, pending.settled ? (slot.state === "ending" ? next : pending.killAt) : pending.deadline);
      }
      next = Math.min(next, this.takeBack(slot, now));
    }
    const why = this.health().workers > 0 ? "every worker was busy" : "no worker was ready";
    for (const pending of this.waiting) {
      if (pending.settled) continue;
      if (pending.deadline <= now) this.settle(pending, timedOut(pending, this.loaded.get(pending.call.resolver), false, why));
      else next = Math.min(next, pending.deadline);
    }
    this.waiting = this.waiting.filter((pending) => !pending.settled);
    if (Number.isFinite(next)) this.wakeBy(next);
  }

  private expire(slot: Slot, pending: Pending, began: boolean, now: number): void {
    this.settle(pending, timedOut(pending, this.loaded.get(pending.call.resolver), began));
    slot.worker.cancel(pending.id, began);
    if (began) pending.killAt = now + GRACE_MS;
  }

  /** Asks for the calls behind a slow one; returns when to look again. */
  private takeBack(slot: Slot, now: number): number {
    const behind = slot.queue.filter((pending, index) => index > 0 && !pending.recalled && !pending.settled);
    if (behind.length === 0) return Number.POSITIVE_INFINITY;
    if (now < slot.headSince + SLOW_MS) return slot.headSince + SLOW_MS;
    for (const pending of behind) {
      pending.recalled = true;
      slot.worker.cancel(pending.id, false);
    }
    return Number.POSITIVE_INFINITY;
  }

  private ended(slot: Slot, ending: WorkerEnding): void {
    this.slots.delete(slot);
    const [head, ...behind] = slot.queue;
    const begun = [...(head ? [head] : []), ...slot.concurrent.values()];
    const { overrunner } = slot;
    for (const pending of begun) {
      if (pending.settled) continue;
      if (overrunner) this.settle(pending, killedWith(pending.call, overrunner.call.resolver));
      else this.settle(pending, crashed(pending.call, ending, this.options.spec.sourceRoot));
    }
    this.waiting.unshift(...behind.filter((pending) => !pending.settled));
    if (this.closing) return;
    if (overrunner) {
      this.replace(0);
      return;
    }
    const running = begun.map((pending) => pending.call.resolver);
    const doing = running.length > 0 ? ` while it ran '${running.join("', '")}'` : "";
    this.crashed(ending.startFailure ?? `a worker ${ending.how}${doing}`);
  }

  private refuseWaiting(): void {
    for (const pending of this.waiting)
      this.settle(pending, failedResult(pending.call, ErrorCode.RESOLVER_FAILED, this.refusal(pending.call) ?? "the workers crashed"));
    this.waiting = [];
  }

  private replace(delay: number): void {
    this.replacing++;
    setTimeout(() => {
      this.replacing--;
      if (this.closing || this.slots.size >= this.options.size) return;
      try {
        this.spawn();
      } catch (error) {
        this.crashed(`a worker could not be started: ${error instanceof Error ? error.message : String(error)}`);
      }
    }, delay);
    this.pump();
  }

  /** Counts a crash, and starts another worker unless there were too many. */
  private crashed(failure: string): void {
    this.lastFailure = failure;
    this.crashes.push(this.options.clock.now());
    if (this.degraded()) this.refuseWaiting();
    else this.replace(this.crashes.length > 1 ? 100 * 2 ** (this.crashes.length - 2) : 0);
  }
}

function resultOf(call: ResolverCall, message: Message, ranMs: number): ResolverResult {
  const columns: Record<string, FeatureValue[]> = {};
  for (const [fqn, values] of Object.entries(message.columns as Record<string, unknown[]>)) columns[fqn] = values.map(untagged);
  const errors = (message.errors as RaisedError[] | undefined) ?? [];
  return { columns, errors: errors.map((error) => raised(call, error)), ranMs };
}
