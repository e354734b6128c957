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

interface Entry {
  readonly id: string;
  readonly starting: Promise<StartedDeployment>;
  ready?: StartedDeployment;
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

  const lease = (entry: Entry, started: StartedDeployment): Lease => {
    entry.leases++;
    entry.usedAt = clock.now();
    let open = true;
    return {
      deployment: started.deployment,
      release() {
        if (!open) return;
        open = false;
        entry.leases--;
        entry.usedAt = clock.now();
        if (entry.leases === 0) entry.onIdle?.();
      },
    };
  };

  const begin = (id: string, start: () => Promise<StartedDeployment>): Entry => {
    const starting = (stopping.get(id) ?? Promise.resolve()).then(start);
    const entry: Entry = { id, starting, leases: 0, usedAt: clock.now() };
    entries.set(id, entry);
    starting.then(
      (started) => {
        entry.ready = started;
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
    if (entry.leases > 0) {
      const ended = new AbortController();
      const over = AbortSignal.any([ended.signal, closing.signal]);
      entry.onIdle = () => ended.abort();
      if (!over.aborted) await clock.sleep(DRAIN_GRACE_MS, over).catch(() => undefined);
    }
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
      return entry.starting.then((started) => lease(entry, started));
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
    sweep,
    async close() {
      clearInterval(timer);
      setTimeout(() => closing.abort(), CLOSE_GRACE_MS).unref();
      await Promise.all([...entries.keys()].map(retire));
      await Promise.all(stopping.values());
    },
  };
}
