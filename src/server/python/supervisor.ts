/**
 * Assignment of calls to workers, their deadlines, and recovery when a worker hangs or dies.
 *
 * Calls go to an idle worker. They are pipelined behind others only while those are expected to
 * take less than a millisecond; the rest wait here for the first idle worker. When a call turns out
 * to be slow, those behind it are taken back and sent to other workers.
 */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { errorText } from "../../domain/error-text.ts";
import { within } from "../../python/subprocess.ts";
import { decodeResult, encodeCall } from "./call-codec.ts";
import { CrashHistory } from "./crash-history.ts";
import { crashed, failedResult, killedWith, named, timedOut } from "./failures.ts";
import type { Message } from "./frames.ts";
import {
  CHECKS_OF,
  type PoolHealth,
  type PythonPool,
  type ResolverCall,
  type ResolverResult,
  type WorkerLog,
  type WorkerObserver,
} from "./pool.ts";
import type { ProfileSamples } from "./profile.ts";
import { type LoadedResolver, Worker, type WorkerEnding, type WorkerSpec } from "./worker.ts";
import { type Pending, WorkerSlot } from "./worker-slot.ts";

/** Options of a supervisor. */
export interface SupervisorOptions {
  /** Specification of the workers. */
  readonly spec: WorkerSpec;
  /** Number of workers. */
  readonly size: number;
  readonly onLog: (line: WorkerLog) => void;
  readonly observer?: WorkerObserver;
  /** Called with samples of the workers; absent = they take none. */
  readonly onProfile?: (samples: ProfileSamples) => void;
  readonly clock: Clock;
  readonly deploymentId: string;
  /** Time allowed for a call that names none. */
  readonly defaultTimeoutMs: number;
  /** Called when everything has ended. */
  readonly onEnd: () => Promise<void>;
}

/** Expected work below which a call is pipelined on a busy worker, in milliseconds. */
const PIPELINE_MS = 1;
/** Running time after which the calls behind a call are taken back. */
const SLOW_MS = 20;
/** Time between the deadline and the kill. */
const GRACE_MS = 250;
/** Longest delay of a timer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/**
 * Time that a drained worker has to end; with hooks that run at the end it has the rest of the
 * grace time, if that is more.
 */
const EXIT_MS = 1_000;
/** Queries whose origin is kept for lines that arrive late. */
const REMEMBERED_ORIGINS = 2_000;

/** Runs calls on the workers of one deployment. */
export class Supervisor implements PythonPool {
  private readonly slots = new Set<WorkerSlot>();
  private readonly loaded = new Map<string, LoadedResolver>();
  /** Calls that are assigned to no worker. */
  private waiting: Pending[] = [];
  /** Milliseconds per row by resolver, a moving average over the last calls. */
  private readonly usualRowMs = new Map<string, number>();
  private readonly crashes: CrashHistory;
  /** Where the last queries come from, by their ids. */
  private readonly origins = new Map<string, NonNullable<WorkerLog["origin"]>>();
  private nextId = 1;
  private closing = false;
  private replacing = 0;
  private wakeAt = Number.POSITIVE_INFINITY;
  private timer: Timer | undefined;
  private onIdle: (() => void) | undefined;

  private size: number;

  constructor(private readonly options: SupervisorOptions) {
    this.size = options.size;
    this.crashes = new CrashHistory(options.clock, options.deploymentId);
  }

  /**
   * Starts the workers and returns the resolvers that the first one has loaded. Throws
   * WorkerStartError.
   */
  async start(): Promise<ReadonlyMap<string, LoadedResolver>> {
    const first = this.spawn();
    await first.worker.ready;
    while (this.slots.size < this.size) this.spawn();
    return first.worker.resolvers;
  }

  call(call: ResolverCall): Promise<ResolverResult> {
    if (call.rows === 0) return Promise.resolve({ columns: {}, errors: [], ranMs: 0 });
    const refusal = this.refusal(call);
    if (refusal !== undefined) return Promise.resolve(failedResult(call, ErrorCode.RESOLVER_FAILED, refusal));
    if (this.slots.size + this.replacing < this.size) this.replace(0);
    const limitMs = call.deadlineMs > 0 ? call.deadlineMs : this.options.defaultTimeoutMs;
    const { signal } = call;
    return new Promise((resolve) => {
      const leave = () => this.endNow(pending);
      const pending: Pending = {
        id: 0,
        call,
        isAsync: this.loaded.get(call.resolver)?.isAsync ?? false,
        limitMs,
        deadline: performance.now() + limitMs,
        resolve: (result) => {
          signal?.removeEventListener("abort", leave);
          resolve(result);
        },
        settled: false,
        recalled: false,
        killAt: Number.POSITIVE_INFINITY,
      };
      this.wakeBy(pending.deadline);
      signal?.addEventListener("abort", leave, { once: true });
      const slot = this.waiting.length > 0 && !pending.isAsync ? undefined : this.slotFor(pending);
      if (slot) this.send(slot, pending);
      else this.waiting.push(pending);
      if (signal?.aborted) this.endNow(pending);
    });
  }

  /** Ends a call whose caller has no use for it any more. */
  private endNow(pending: Pending): void {
    if (pending.settled) return;
    pending.deadline = Math.min(pending.deadline, performance.now());
    this.wakeBy(pending.deadline);
  }

  resize(atLeast: number): void {
    this.size = Math.max(this.size, atLeast);
  }

  health(): PoolHealth {
    const workers = [...this.slots].filter((slot) => slot.state === "ready").length;
    const { lastFailure } = this.crashes;
    return { workers, degraded: this.crashes.degraded(), ...(lastFailure !== undefined && { lastFailure }) };
  }

  async drain(graceMs: number): Promise<void> {
    this.closing = true;
    const until = performance.now() + graceMs;
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
    const hasHooks = [...this.slots].some((slot) => slot.worker.hasAfterHooks);
    await within(hasHooks ? Math.max(EXIT_MS, until - performance.now()) : EXIT_MS, ended);
    for (const slot of this.slots) slot.worker.kill();
    await ended;
    clearTimeout(this.timer);
    await this.options.onEnd();
  }

  private refusal(call: ResolverCall): string | undefined {
    if (this.closing) return "the deployment's workers are being stopped";
    if (!this.loaded.has(call.resolver) && !call.resolver.startsWith(CHECKS_OF))
      return `resolver '${call.resolver}' is not defined in the deployment's Python code`;
    const reason = this.crashes.refusal(call.resolver);
    return reason === undefined ? undefined : `${this.named(call)} ${reason}`;
  }

  private named(call: ResolverCall): string {
    return named(call.resolver, this.loaded.get(call.resolver));
  }

  private spawn(): WorkerSlot {
    const slot = new WorkerSlot(
      (owner) =>
        new Worker(this.options.spec, {
          onResult: (message) => this.received(owner, message),
          onLog: (line) => this.options.onLog({ ...line, ...this.originOf(line.queryId), podName: owner.seen?.name ?? "" }),
          onProfile: (samples) => this.profiled(samples),
          onClosing: () => {
            owner.state = "ending";
          },
          onEnd: (ending) => this.ended(owner, ending),
        }),
    );
    this.slots.add(slot);
    slot.seen = this.options.observer?.began(slot.worker.started);
    slot.worker.ready.then(
      () => {
        slot.seen?.ready();
        for (const [fqn, resolver] of slot.worker.resolvers) this.loaded.set(fqn, resolver);
        if (slot.state === "starting") slot.state = "ready";
        this.pump();
      },
      () => slot.worker.kill(),
    );
    return slot;
  }

  /** The worker that should run a call now; undefined when it should wait. */
  private slotFor(pending: Pending): WorkerSlot | undefined {
    let best: WorkerSlot | undefined;
    for (const slot of this.slots) {
      if (slot.state !== "ready") continue;
      if (pending.isAsync) {
        if (!best || slot.concurrent.size < best.concurrent.size) best = slot;
      } else if (slot.queue.length === 0) return slot;
      else if (slot.expectedMs < (best?.expectedMs ?? PIPELINE_MS) && performance.now() - slot.headSince < SLOW_MS) best = slot;
    }
    return best;
  }

  private send(slot: WorkerSlot, pending: Pending): void {
    const { call } = pending;
    pending.id = this.nextId++;
    let frame: Buffer;
    try {
      frame = encodeCall(pending.id, call, this.loaded.get(call.resolver)?.usesNow ?? false);
    } catch (error) {
      this.settle(pending, failedResult(call, ErrorCode.RESOLVER_FAILED, `${this.named(call)} was not run: ${describe(error)}`));
      return;
    }
    if (pending.isAsync) slot.concurrent.set(pending.id, pending);
    else {
      if (slot.queue.length === 0) slot.headSince = performance.now();
      else this.wakeBy(slot.headSince + SLOW_MS);
      slot.queue.push(pending);
      slot.expectedMs += this.expected(call);
    }
    this.remember(call);
    slot.worker.call(frame, pending.isAsync);
  }

  /** Keeps where a query comes from for its lines, which may arrive after it has ended. */
  private remember({ context: { queryId, traceId }, origin }: ResolverCall): void {
    if (!origin || this.origins.has(queryId)) return;
    this.origins.set(queryId, { ...origin, traceId });
    if (this.origins.size > REMEMBERED_ORIGINS) this.origins.delete(this.origins.keys().next().value as string);
  }

  private originOf(queryId: string): Pick<WorkerLog, "origin"> {
    const origin = this.origins.get(queryId);
    return origin ? { origin } : {};
  }

  /**
   * Expected milliseconds of a call. A resolver that has not run yet counts as slow, so that no
   * call waits behind its first.
   */
  private expected(call: ResolverCall): number {
    const rowMs = this.usualRowMs.get(call.resolver);
    return rowMs === undefined ? PIPELINE_MS : rowMs * call.rows;
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

  private received(slot: WorkerSlot, message: Message): void {
    if (message.leftovers === true && slot.queue[0]?.id === Number(message.id)) {
      this.killFor(slot, slot.queue[0]);
      return;
    }
    const pending = slot.take(Number(message.id));
    if (!pending) return;
    if (!pending.isAsync) slot.expectedMs = slot.queue.length === 0 ? 0 : Math.max(0, slot.expectedMs - this.expected(pending.call));
    if (message.cancelled === true) {
      if (!pending.settled) {
        pending.recalled = false;
        this.waiting.unshift(pending);
      }
    } else {
      const { resolver, rows } = pending.call;
      const rowMs = Number(message.ranMs) / rows;
      this.usualRowMs.set(resolver, (this.usualRowMs.get(resolver) ?? rowMs) * 0.8 + rowMs * 0.2);
      if (!pending.settled) this.settle(pending, this.resultOf(pending.call, message));
    }
    if (slot.queue[0]?.settled) this.wakeBy(performance.now());
    if (this.waiting.length > 0) this.pump();
  }

  private resultOf(call: ResolverCall, message: Message): ResolverResult {
    try {
      return decodeResult(call, message);
    } catch (error) {
      return failedResult(call, ErrorCode.RESOLVER_FAILED, `what ${this.named(call)} returned cannot be read: ${describe(error)}`);
    }
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

  /** Schedules `supervise` to run at that time at the latest. */
  private wakeBy(at: number): void {
    if (at >= this.wakeAt) return;
    this.wakeAt = at;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.supervise(), Math.min(Math.max(0, at - performance.now()), LONGEST_TIMER_MS));
  }

  private supervise(): void {
    const now = performance.now();
    this.wakeAt = Number.POSITIVE_INFINITY;
    let next = Number.POSITIVE_INFINITY;
    for (const slot of this.slots) {
      const head = slot.queue[0];
      for (const pending of slot.pending()) {
        if (pending.deadline <= now) this.expire(slot, pending, pending.isAsync || pending === head, now);
        if (pending.killAt <= now && slot.state !== "ending") this.killFor(slot, pending);
        if (slot.state !== "ending") next = Math.min(next, pending.settled ? pending.killAt : pending.deadline);
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

  /**
   * Answers a call whose time is up and cancels it on the worker, which is killed if it does not
   * give up a running call.
   */
  private expire(slot: WorkerSlot, pending: Pending, begun: boolean, now: number): void {
    if (Number.isFinite(pending.killAt) || (pending.settled && !begun)) return;
    this.settle(pending, timedOut(pending, this.loaded.get(pending.call.resolver), begun));
    slot.worker.cancel(pending.id, begun);
    if (begun) pending.killAt = now + GRACE_MS;
  }

  private killFor(slot: WorkerSlot, overrunner: Pending): void {
    slot.state = "ending";
    slot.overrunner = overrunner;
    slot.worker.kill();
  }

  /** Requests back the calls behind a slow one; returns the time of the next check. */
  private takeBack(slot: WorkerSlot, now: number): number {
    const behind = slot.queue.filter((pending, index) => index > 0 && !pending.recalled && !pending.settled);
    if (behind.length === 0) return Number.POSITIVE_INFINITY;
    if (now < slot.headSince + SLOW_MS) return slot.headSince + SLOW_MS;
    for (const pending of behind) {
      pending.recalled = true;
      slot.worker.cancel(pending.id, false);
    }
    return Number.POSITIVE_INFINITY;
  }

  private ended(slot: WorkerSlot, ending: WorkerEnding): void {
    this.slots.delete(slot);
    const how = slot.overrunner ? `was killed, because '${slot.overrunner.call.resolver}' did not end in time` : ending.how;
    slot.seen?.ended({ isExpected: this.closing, how, cpuMs: ending.cpuMs });
    const [head, ...behind] = slot.queue;
    const begun = [...(head ? [head] : []), ...slot.concurrent.values()];
    const { overrunner } = slot;
    for (const pending of begun) {
      if (pending.settled) continue;
      if (overrunner) this.settle(pending, killedWith(pending.call, this.named(overrunner.call)));
      else this.settle(pending, crashed(pending.call, this.loaded.get(pending.call.resolver), ending, this.options.spec.sourceRoot));
    }
    this.waiting.unshift(...behind.filter((pending) => !pending.settled));
    if (this.closing) return;
    if (overrunner) {
      this.replace(0);
      return;
    }
    const running = begun.map((pending) => pending.call.resolver);
    const doing = running.length > 0 ? ` while it ran '${running.join("', '")}'` : "";
    this.crashed(ending.startFailure ?? `a worker ${ending.how}${doing}`, running);
  }

  private profiled({ stacks, dropped }: ProfileSamples): void {
    this.options.onProfile?.({ stacks: stacks.filter(({ resolver }) => this.loaded.has(resolver)), dropped });
  }

  private refuseWaiting(): void {
    for (const pending of this.waiting) {
      const reason = this.refusal(pending.call);
      if (reason !== undefined) this.settle(pending, failedResult(pending.call, ErrorCode.RESOLVER_FAILED, reason));
    }
    this.waiting = this.waiting.filter((pending) => !pending.settled);
  }

  private replace(delay: number): void {
    this.replacing++;
    const timer = setTimeout(() => {
      this.replacing--;
      if (this.closing || this.slots.size >= this.size) return;
      try {
        this.spawn();
      } catch (error) {
        this.crashed(`a worker could not be started: ${describe(error)}`, []);
      }
    }, delay);
    timer.unref();
    this.pump();
  }

  /** Counts a crash, and starts another worker unless there were too many. */
  private crashed(failure: string, running: readonly string[]): void {
    this.crashes.record(failure, running);
    this.refuseWaiting();
    if (!this.crashes.degraded()) this.replace(this.crashes.delay());
  }
}

function describe(error: unknown): string {
  return errorText(error);
}
