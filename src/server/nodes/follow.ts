/** Following a store: a node reads its cached data again when other nodes may have changed it. */

import type { Clock } from "../../context/clock.ts";
import type { Bus, Topic } from "../jobs/bus.ts";
import type { Log } from "../log.ts";

/** Milliseconds after which everything is read again, because notifications may be lost. */
const REREAD_MS = 30_000;
const RETRY_MS = 1_000;

/** A follower of a store. */
export interface Following {
  /**
   * Reads everything now, after a reading that is under way. Resolves when that is done; rejects
   * with the error of `read`.
   */
  reread(): Promise<void>;
  /** Stops, and waits for a reading that is under way. */
  stop(): Promise<void>;
}

/**
 * Calls `read` with the ids that may have changed: at once, on every notification of the bus, and
 * every 30 s. Readings never overlap; notifications during one are passed to the next together.
 * After one that rejects, everything is read again a second later.
 * @param options.read is given the ids that may have changed; undefined = everything may have
 */
export function followStore(options: {
  readonly bus: Bus;
  readonly topic: Topic;
  readonly clock: Clock;
  readonly log: Log;
  readonly read: (ids: ReadonlySet<string> | undefined) => unknown;
}): Following {
  const { bus, topic, clock, log, read } = options;
  const stopping = new AbortController();
  let changed = new Set<string>();
  let isAllChanged = true;
  let waiting: { resolve(): void; reject(reason: unknown): void }[] = [];
  let wake: () => void = () => undefined;

  const noteChange = (id: string): void => {
    if (id === "") isAllChanged = true;
    else changed.add(id);
    wake();
  };

  const readOnce = async (): Promise<void> => {
    const ids = isAllChanged ? undefined : changed;
    const waiters = waiting;
    changed = new Set();
    isAllChanged = false;
    waiting = [];
    try {
      await read(ids);
      for (const { resolve } of waiters) resolve();
    } catch (error) {
      isAllChanged = true;
      for (const { reject } of waiters) reject(error);
      throw error;
    }
  };

  /**
   * Waits for a notification or a call of `reread`. After a failed reading it waits a second, or
   * until `reread` is called.
   */
  const rest = async (isFailing: boolean): Promise<void> => {
    const pause = new AbortController();
    const over = AbortSignal.any([pause.signal, stopping.signal]);
    wake = () => {
      if (isFailing ? waiting.length > 0 : isAllChanged || changed.size > 0) pause.abort();
    };
    wake();
    if (isFailing) await clock.sleep(RETRY_MS, over).catch(() => undefined);
    else if (!over.aborted) await new Promise<void>((resolve) => over.addEventListener("abort", () => resolve()));
    wake = () => undefined;
  };

  const run = async (): Promise<void> => {
    for (let isFailing = false; !stopping.signal.aborted; ) {
      try {
        await readOnce();
        isFailing = false;
      } catch (error) {
        if (!isFailing) log.warning("what other nodes changed could not be read", { topic, error: String(error) });
        isFailing = true;
      }
      await rest(isFailing);
    }
    for (const { resolve } of waiting) resolve();
  };

  const rereadByTimer = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(REREAD_MS, stopping.signal);
      noteChange("");
    }
  };

  const unsubscribe = bus.subscribe(topic, noteChange);
  const running = run();
  rereadByTimer().catch(() => undefined);
  return {
    reread() {
      if (stopping.signal.aborted) return Promise.resolve();
      const done = new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
      noteChange("");
      return done;
    },
    async stop() {
      unsubscribe();
      stopping.abort();
      await running;
    },
  };
}
