/**
 * Deployments that run: started by the first query, leased while a query runs on them, stopped when
 * they are replaced or not queried for a while.
 */

import type { Clock } from "../../context/clock.ts";
import type { Log } from "../log.ts";
import type { LiveDeployment } from "../query/live-deployment.ts";

/** A deployment that stays up at least until it is released. */
export interface Lease {
  readonly deployment: LiveDeployment;
  /**
   * Whether the versions of its features are those in use. Values of versions that were ended are
   * not stored: long work takes another lease then.
   */
  isCurrent(): boolean;
  /** To be called once, when the query has ended. */
  release(): void;
}

/** A deployment with what must be closed when it stops. */
export interface StartedDeployment {
  readonly deployment: LiveDeployment;
  /**
   * Ends the workers after running calls (at most `graceMs`), closes the sources, removes the
   * folder.
   */
  stop(graceMs: number): Promise<void>;
  /** Gives sources and workers the variables of the environment, when these have changed. */
  renew(): Promise<void>;
  /**
   * The deployment with the versions of its features that are in use: another object when they have
   * changed, with the same workers and sources.
   */
  withVersionsInUse(): Promise<LiveDeployment>;
}

/** The running deployments. */
export interface RunningDeployments {
  /** A lease on a deployment, which is started if it does not run. */
  acquire(id: string, start: () => Promise<StartedDeployment>): Lease | Promise<Lease>;
  /** The deployment if it runs already, else undefined. */
  peek(id: string): LiveDeployment | undefined;
  /** Deployments that run now. */
  list(): LiveDeployment[];
  /** Sets whether a deployment is exempt from stopping for lack of queries. */
  pin(id: string, pinned: boolean): void;
  /**
   * Takes no more queries on a deployment; running ones have 30 s to end. Resolves when it has
   * stopped.
   */
  retire(id: string): Promise<void>;
  /**
   * Gives the deployments of some environments, or of all, the variables that these have now. They
   * answer queries meanwhile.
   */
  renew(environmentIds: ReadonlySet<string> | undefined): void;
  /**
   * Has the deployments of an environment go on with the versions of features that are in use.
   * Resolves when no query runs with others, or those that do had 30 s to end.
   */
  renewVersions(environmentId: string, signal: AbortSignal): Promise<void>;
  /** Stops deployments without a query for the idle time. Called by a timer; public for tests. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds that running queries have when their deployment is replaced. */
export const DRAIN_GRACE_MS = 30_000;
/**
 * Milliseconds that running queries have when the server stops, after those that the listener gave
 * them.
 */
const CLOSE_GRACE_MS = 500;
/** Milliseconds without a query after which a deployment that is not pinned stops. */
export const IDLE_MS = 600_000;

/** A deployment with some versions of its features. */
interface Generation {
  readonly deployment: LiveDeployment;
  leases: number;
  /** Called when the last lease is released. */
  onIdle?: () => void;
}

interface Entry {
  readonly id: string;
  readonly starting: Promise<StartedDeployment>;
  ready?: Generation;
  leases: number;
  usedAt: number;
  /** Called when the last lease is released. */
  onIdle?: () => void;
}

/** Makes the registry. */
export function createRunningDeployments(options: {
  readonly clock: Clock;
  readonly log: Log;
  readonly idleMs?: number;
}): RunningDeployments {
  const { clock, log, idleMs = IDLE_MS } = options;
  const entries = new Map<string, Entry>();
  const pinned = new Set<string>();
  const stopping = new Map<string, Promise<void>>();
  const closing = new AbortController();

  const lease = (entry: Entry, generation: Generation): Lease => {
    entry.leases++;
    generation.leases++;
    entry.usedAt = clock.now();
    let open = true;
    return {
      deployment: generation.deployment,
      isCurrent: () => entry.ready === generation,
      release() {
        if (!open) return;
        open = false;
        entry.leases--;
        generation.leases--;
        entry.usedAt = clock.now();
        if (generation.leases === 0) generation.onIdle?.();
        if (entry.leases === 0) entry.onIdle?.();
      },
    };
  };

  /** Waits until nothing runs any more, at most as long as running queries have. */
  const drained = async (used: { leases: number; onIdle?: () => void }, signal: AbortSignal): Promise<void> => {
    if (used.leases === 0) return;
    const ended = new AbortController();
    const over = AbortSignal.any([ended.signal, signal]);
    used.onIdle = () => ended.abort();
    if (!over.aborted) await clock.sleep(DRAIN_GRACE_MS, over).catch(() => undefined);
  };

  const begin = (id: string, start: () => Promise<StartedDeployment>): Entry => {
    const starting = (stopping.get(id) ?? Promise.resolve()).then(start);
    const entry: Entry = { id, starting, leases: 0, usedAt: clock.now() };
    entries.set(id, entry);
    starting.then(
      (started) => {
        entry.ready = { deployment: started.deployment, leases: 0 };
      },
      () => {
        if (entries.get(id) === entry) entries.delete(id);
      },
    );
    return entry;
  };

  const stop = async (entry: Entry): Promise<void> => {
    const started = await entry.starting.catch(() => undefined);
    if (!started) return;
    await drained(entry, closing.signal);
    await started.stop(0);
  };

  const retire = async (id: string): Promise<void> => {
    const entry = entries.get(id);
    if (!entry) return stopping.get(id);
    entries.delete(id);
    const done = stop(entry)
      .catch((error: unknown) => log.warning("a deployment did not stop cleanly", { deployment: id, error: String(error) }))
      .finally(() => stopping.delete(id));
    stopping.set(id, done);
    await done;
  };

  const sweep = async (): Promise<void> => {
    const limit = clock.now() - idleMs;
    const idle = [...entries.values()].filter(
      (entry) => entry.ready && entry.leases === 0 && entry.usedAt <= limit && !pinned.has(entry.id),
    );
    await Promise.all(
      idle.map(({ id }) => {
        log.info("a deployment that nobody asked for was stopped", { deployment: id });
        return retire(id);
      }),
    );
  };
  const timer = setInterval(() => void sweep(), Math.min(idleMs, 60_000));
  timer.unref();

  return {
    acquire(id, start) {
      const entry = entries.get(id) ?? begin(id, start);
      if (entry.ready) return lease(entry, entry.ready);
      return entry.starting.then(() => lease(entry, entry.ready as Generation));
    },
    peek: (id) => entries.get(id)?.ready?.deployment,
    list: () => [...entries.values()].flatMap(({ ready }) => (ready ? [ready.deployment] : [])),
    pin(id, on) {
      if (on) pinned.add(id);
      else pinned.delete(id);
    },
    retire,
    renew(environmentIds) {
      for (const { id, starting } of entries.values())
        starting
          .then(async ({ deployment, renew }) => {
            if (!environmentIds || environmentIds.has(deployment.environmentId)) await renew();
          })
          .catch((error: unknown) => log.debug("a deployment was not given its variables anew", { deployment: id, error: String(error) }));
    },
    async renewVersions(environmentId, signal) {
      await Promise.all(
        [...entries.values()].map(async (entry) => {
          const started = await entry.starting.catch(() => undefined);
          const before = entry.ready;
          if (!started || !before || before.deployment.environmentId !== environmentId) return;
          const deployment = await started.withVersionsInUse();
          if (deployment === before.deployment) return;
          entry.ready = { deployment, leases: 0 };
          await drained(before, AbortSignal.any([signal, closing.signal]));
        }),
      );
    },
    sweep,
    async close() {
      clearInterval(timer);
      setTimeout(() => closing.abort(), CLOSE_GRACE_MS).unref();
      await Promise.all([...entries.keys()].map(retire));
      await Promise.all(stopping.values());
    },
  };
}
