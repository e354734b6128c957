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

  const rest = async (ms: number, isOver: () => boolean): Promise<void> => {
    const pause = new AbortController();
    wake = () => {
      if (isOver()) pause.abort();
    };
    wake();
    await clock.sleep(ms, AbortSignal.any([pause.signal, stopping.signal])).then(
      () => {
        isAllTold = true;
      },
      () => undefined,
    );
    wake = () => undefined;
  };

  const run = async (): Promise<void> => {
    for (let isFailing = false; !stopping.signal.aborted; ) {
      try {
        await readOnce();
        isFailing = false;
        await rest(REREAD_MS, () => isAllTold || told.size > 0);
      } catch (error) {
        if (!isFailing) log.warning("what other nodes changed could not be read", { topic, error: String(error) });
        isFailing = true;
        await rest(RETRY_MS, () => waiting.length > 0);
      }
    }
    for (const { resolve } of waiting) resolve();
  };

  const unsubscribe = bus.subscribe(topic, hear);
  const running = run();
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
