/**
 * The runner of jobs on one node: it claims due jobs, renews their leases while handlers work, and
 * writes how each attempt ended. A node that dies loses its leases, and another node or its next
 * process claims the jobs again; a handler must therefore cope with an earlier attempt that was cut
 * off at any point.
 */

import type { Clock } from "../../context/clock.ts";
import { errorText } from "../../domain/error-text.ts";
import type { Log } from "../log.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import { type ClaimedJob, environmentOf, type JobRecord, type JobStore } from "../stores/metadata/jobs.ts";
import { backoffMs } from "./backoff.ts";
import type { Bus } from "./bus.ts";
import { noteChange } from "./changes.ts";
import { createWakeablePause, type WakeablePause } from "./wakeable-pause.ts";

/** One attempt at a job, as its handler sees it. */
export interface Attempt {
  /**
   * Aborted when the attempt must end: it took too long, was cancelled, lost its lease, or the
   * server stops.
   */
  readonly signal: AbortSignal;
  /** Sets a few words about the current work, which are written with the next heartbeat. */
  progress(text: string): void;
}

/** The handler of jobs of one kind. */
export interface JobHandler {
  /** Does a job. When it rejects the attempt has failed; with JobFailed the job has failed too. */
  run(job: JobRecord, attempt: Attempt): Promise<void>;
  /**
   * Cleans up after a job that will not be attempted again, before it is marked as failed or
   * cancelled. It is called again when it rejects or the node dies.
   */
  giveUp(job: JobRecord, reason: string): Promise<void>;
  /** Milliseconds from a failed attempt to the next; default: `backoff.ts`. */
  backoffMs?(attempts: number): number;
  /**
   * Whether failures are those of somebody else, who sees them elsewhere: the server's log then has
   * them only at level debug.
   */
  readonly isQuiet?: boolean;
  /** Whether its jobs may run for hours: they have slots of their own, so that no other waits. */
  readonly isLong?: boolean;
}

/** A job failed for a reason that another attempt would not remove. */
export class JobFailed extends Error {
  override readonly name = "JobFailed";
}

/** The services and settings of a runner. */
export interface JobRunnerOptions {
  readonly jobs: JobStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /** Id of this node; no other process uses it. */
  readonly node: string;
  readonly handlers: Readonly<Record<string, JobHandler>>;
  /** Most jobs that run at once on this node, besides the long ones. */
  readonly slots: number;
  /** Most long jobs that run at once on this node; default: as many as others. */
  readonly longSlots?: number;
  /** Where attempts are recorded; absent = they are not. */
  readonly metrics?: MetricRecorder;
  /**
   * Length of a lease in milliseconds, after which another node may claim the job; default 30 s.
   */
  readonly leaseMs?: number;
}

/** The runner of a node. */
export interface JobRunner {
  /** Resolves when nothing runs and nothing is due on this node, or the runner stops. */
  idle(): Promise<void>;
  /** Claims no more jobs; running ones continue. */
  drain(): void;
  /** Stops claiming, ends the running attempts and releases their jobs. */
  stop(): Promise<void>;
}

/** The outcome of an attempt. */
type Outcome =
  | { readonly is: "succeeded" | "lost" | "cancelled" | "stopping" }
  | { readonly is: "failed"; readonly reason: string; readonly isFinal: boolean };

/** The reason with which an attempt's signal is aborted. */
class AttemptEnded extends Error {
  override readonly name = "AttemptEnded";
  constructor(readonly why: "stopping" | "lost" | "cancelled" | "timeout") {
    super(`the attempt is to end: ${why}`);
  }
}

/** Jobs that share the slots of a node. */
interface Lane {
  readonly kinds: readonly string[];
  readonly slots: number;
  running: number;
}

const LEASE_MS = 30_000;
const HEARTBEATS_PER_LEASE = 3;
/** Longest time between two polls of the queue: notifications may be lost. */
const POLL_MS = 30_000;
const STORE_RETRY_MS = 1_000;
/** Milliseconds that a handler has to return after its signal was aborted. */
const GRACE_MS = 10_000;

/**
 * Starts a runner: it releases the jobs that an earlier process of the node held, then claims and
 * runs jobs. While the store cannot be used it retries.
 */
export function startJobRunner(options: JobRunnerOptions): JobRunner {
  const { jobs, bus, clock, log, node, handlers, metrics, leaseMs = LEASE_MS } = options;
  const lanes = lanesOf(options);
  const running = new Map<Promise<void>, AbortController>();
  const stopping = new AbortController();
  const counted = ({ kind, scope }: JobRecord, state: "succeeded" | "failed" | "cancelled"): void =>
    metrics?.counter("job.count", environmentOf(scope), { kind, state }).add();
  let isDraining = false;
  const pause = createWakeablePause(clock, stopping.signal);
  const idleWaiters: (() => void)[] = [];
  const changed = ({ scope }: JobRecord): void => noteChange(bus, "runs", environmentOf(scope));
  const notifyIdle = (): void => {
    for (const resolve of idleWaiters.splice(0)) resolve();
  };

  /**
   * Repeats a write until it succeeds. Rejects when the server stops meanwhile: the lease remains,
   * and the node's next process releases it.
   */
  const writeWithRetry = async <T>(job: JobRecord, write: () => Promise<T>): Promise<T> => {
    for (let isWaiting = false; ; isWaiting = true) {
      try {
        return await write();
      } catch (error) {
        if (!isWaiting) log.error("the end of a job waits", { job: job.id, kind: job.kind, error: errorText(error) });
        await clock.sleep(STORE_RETRY_MS, stopping.signal);
      }
    }
  };

  /** The pauses between two heartbeats, by the ids of jobs that run. */
  const beats = new Map<string, WakeablePause>();

  /**
   * Renews a lease until `over`, and aborts the attempt when the lease is lost or the job is
   * cancelled. A notification that names the job has it renewed at once.
   */
  const keepLease = async (
    { job, lease }: ClaimedJob,
    progressText: () => string | undefined,
    ended: AbortController,
    over: AbortSignal,
  ): Promise<void> => {
    const beat = createWakeablePause(clock, over);
    beats.set(lease.id, beat);
    over.addEventListener("abort", () => beats.delete(lease.id), { once: true });
    let told: string | undefined;
    for (let missed = 0; ; ) {
      await beat.sleep(leaseMs / HEARTBEATS_PER_LEASE);
      if (over.aborted) return;
      beat.clear();
      const text = progressText();
      const heard = await jobs.heartbeat(lease, leaseMs, text).catch(() => undefined);
      if (text !== told) changed(job);
      told = text;
      missed = heard === undefined ? missed + 1 : 0;
      if (heard === "lost" || missed >= HEARTBEATS_PER_LEASE) ended.abort(new AttemptEnded("lost"));
      if (heard === "cancel") ended.abort(new AttemptEnded("cancelled"));
    }
  };

  const perform = async (
    job: JobRecord,
    handler: JobHandler,
    ended: AbortController,
    progress: (text: string) => void,
  ): Promise<Outcome> => {
    if (stopping.signal.aborted) return { is: "stopping" };
    const over = new AbortController();
    const timeout = () => ended.abort(new AttemptEnded("timeout"));
    clock.sleep(job.attemptTimeoutMs, over.signal).then(timeout, () => undefined);
    const graceIsOver = new Promise<never>((_, reject) => {
      ended.signal.addEventListener("abort", () => {
        const give = () => reject(ended.signal.reason);
        clock.sleep(GRACE_MS, over.signal).then(give, () => undefined);
      });
    });
    try {
      await Promise.race([handler.run(job, { signal: ended.signal, progress }), graceIsOver]);
      return { is: "succeeded" };
    } catch (error) {
      const reason: unknown = ended.signal.aborted ? ended.signal.reason : error;
      if (!(reason instanceof AttemptEnded))
        return { is: "failed", reason: errorText(error), isFinal: error instanceof JobFailed || job.attempts >= job.maxAttempts };
      if (reason.why !== "timeout") return { is: reason.why };
      return { is: "failed", reason: `it took longer than ${job.attemptTimeoutMs / 1_000} s`, isFinal: job.attempts >= job.maxAttempts };
    } finally {
      over.abort();
    }
  };

  const giveUp = async (job: JobRecord, handler: JobHandler, reason: string, end: () => Promise<boolean>): Promise<void> => {
    log[handler.isQuiet ? "debug" : "warning"]("a job is given up", { job: job.id, kind: job.kind, attempts: job.attempts, reason });
    await writeWithRetry(job, () => handler.giveUp(job, reason));
    await writeWithRetry(job, end);
  };

  const carryOut = async (claimed: ClaimedJob, ended: AbortController, progress: (text: string) => void): Promise<void> => {
    const { job, lease, exhausted } = claimed;
    const handler = handlers[job.kind] as JobHandler;
    if (exhausted !== undefined) {
      await giveUp(job, handler, exhausted, () => jobs.fail(lease, exhausted));
      return counted(job, "failed");
    }
    const began = performance.now();
    const outcome = await perform(job, handler, ended, progress);
    metrics?.histogram("job.latency", environmentOf(job.scope), { kind: job.kind }).observe((performance.now() - began) / 1000);
    switch (outcome.is) {
      case "succeeded":
        await writeWithRetry(job, () => jobs.succeed(lease));
        return counted(job, "succeeded");
      case "stopping":
      case "lost": {
        const wasHeld = await writeWithRetry(job, () => jobs.release(lease));
        if (!wasHeld) log.warning("a job was lost to another node", { job: job.id, kind: job.kind });
        return;
      }
      case "cancelled":
        await giveUp(job, handler, "it was cancelled", () => jobs.confirmCancel(lease));
        return counted(job, "cancelled");
      case "failed":
        log[handler.isQuiet ? "debug" : "warning"]("an attempt of a job failed", {
          job: job.id,
          kind: job.kind,
          attempt: job.attempts,
          error: outcome.reason,
        });
        if (outcome.isFinal) {
          await giveUp(job, handler, outcome.reason, () => jobs.fail(lease, outcome.reason));
          return counted(job, "failed");
        }
        await writeWithRetry(job, () => jobs.fail(lease, outcome.reason, (handler.backoffMs ?? backoffMs)(job.attempts)));
    }
  };

  /** Carries out a claimed job, renewing its lease until the outcome is written. */
  const attempt = async (claimed: ClaimedJob, ended: AbortController): Promise<void> => {
    const over = new AbortController();
    let progressText: string | undefined;
    keepLease(claimed, () => progressText, ended, over.signal).catch(() => undefined);
    try {
      await carryOut(claimed, ended, (text) => {
        progressText = text;
        changed(claimed.job);
      });
    } finally {
      over.abort();
    }
  };

  const begin = (claimed: ClaimedJob, lane: Lane): void => {
    const ended = new AbortController();
    lane.running++;
    const done: Promise<void> = attempt(claimed, ended)
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) log.error("a job's end could not be written", { job: claimed.job.id, error: errorText(error) });
      })
      .finally(() => {
        running.delete(done);
        lane.running--;
        bus.publish("jobs");
        changed(claimed.job);
      });
    running.set(done, ended);
    changed(claimed.job);
  };

  const run = async (): Promise<void> => {
    for (let hasAbandoned = false; !stopping.signal.aborted; ) {
      pause.clear();
      try {
        if (!hasAbandoned) await jobs.abandon(node);
        hasAbandoned = true;
        const dues: number[] = [];
        let hasClaimed = false;
        for (const lane of lanes) {
          const limit = isDraining ? 0 : lane.slots - lane.running;
          if (limit <= 0) continue;
          const claimed = await jobs.claim({ node, kinds: lane.kinds, limit, leaseMs });
          for (const one of claimed) begin(one, lane);
          if (claimed.length > 0) hasClaimed = true;
          else dues.push((await jobs.nextDueIn(node, lane.kinds)) ?? POLL_MS);
        }
        if (hasClaimed) continue;
        if (running.size === 0) notifyIdle();
        await pause.sleep(Math.max(Math.min(POLL_MS, ...dues), 1));
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.error("the queue of jobs could not be read", { error: errorText(error) });
        await pause.sleep(STORE_RETRY_MS);
      }
    }
  };

  const unsubscribe = bus.subscribe("jobs", (id) => {
    pause.wake();
    beats.get(id)?.wake();
  });
  const polling = run();

  return {
    idle() {
      if (stopping.signal.aborted) return Promise.resolve();
      const idle = new Promise<void>((resolve) => idleWaiters.push(resolve));
      pause.wake();
      return idle;
    },
    drain() {
      isDraining = true;
    },
    async stop() {
      stopping.abort();
      unsubscribe();
      await polling;
      for (const ended of running.values()) ended.abort(new AttemptEnded("stopping"));
      await Promise.all(running.keys());
      notifyIdle();
    },
  };
}

function lanesOf({ handlers, slots, longSlots = slots }: JobRunnerOptions): readonly Lane[] {
  const kinds = Object.keys(handlers);
  const isLong = (kind: string): boolean => handlers[kind]?.isLong === true;
  const lanes = [
    { kinds: kinds.filter((kind) => !isLong(kind)), slots, running: 0 },
    { kinds: kinds.filter(isLong), slots: longSlots, running: 0 },
  ];
  return lanes.filter((lane) => lane.kinds.length > 0);
}
