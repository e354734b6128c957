/** Following a store: what a node remembers of it is read again when others may have changed it. */

import type { Clock } from "../../context/clock.ts";
import type { Bus, Topic } from "../jobs/bus.ts";
import type { Log } from "../log.ts";

/** Milliseconds after which everything is read again, because notifications may be lost. */
const REREAD_MS = 30_000;
const RETRY_MS = 1_000;

/** What follows a store. */
export interface Following {
  /**
   * Reads again now, once a reading that is under way has ended. Resolves when that is done;
   * rejects with what it rejects with.
   */
  reread(): Promise<void>;
  /** Stops, and waits for a reading that is under way. */
  stop(): Promise<void>;
}

/**
 * Calls `read` with what may have changed: at once, when the bus says so, and every 30 s. Readings
 * never overlap; what is told during one is handed to the next together. One that rejects is made
 * again after a second, of everything.
 * @param options.read gets the ids that were told of; undefined = everything may have changed
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
  let told = new Set<string>();
  let isAllTold = true;
  let waiting: { resolve(): void; reject(reason: unknown): void }[] = [];
  let wake: () => void = () => undefined;

  const hear = (id: string): void => {
    if (id === "") isAllTold = true;
    else told.add(id);
    wake();
  };

  const readOnce = async (): Promise<void> => {
    const ids = isAllTold ? undefined : told;
    const asking = waiting;
    told = new Set();
    isAllTold = false;
    waiting = [];
    try {
      await read(ids);
      for (const { resolve } of asking) resolve();
    } catch (error) {
      isAllTold = true;
      for (const { reject } of asking) reject(error);
      throw error;
    }
  };

  /**
   * Waits until something is told, or somebody wants a reading; for the store to be there again, a
   * second at most.
   */
  const rest = async (isFailing: boolean): Promise<void> => {
    const pause = new AbortController();
    const over = AbortSignal.any([pause.signal, stopping.signal]);
    wake = () => {
      if (isFailing ? waiting.length > 0 : isAllTold || told.size > 0) pause.abort();
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
      hear("");
    }
  };

  const unsubscribe = bus.subscribe(topic, hear);
  const running = run();
  rereadByTimer().catch(() => undefined);
  return {
    reread() {
      if (stopping.signal.aborted) return Promise.resolve();
      const done = new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
      hear("");
      return done;
    },
    async stop() {
      unsubscribe();
      stopping.abort();
      await running;
    },
  };
}
