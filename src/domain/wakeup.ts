/** Waiting for something to happen again, such as a change of files. */

/** A signal between one waiter and its waker; a wake-up without a waiter is kept for the next. */
export function createWakeup(signal: AbortSignal): { wake(): void; next(): Promise<void> } {
  let pending = false;
  let waiter: (() => void) | undefined;
  return {
    wake() {
      pending = true;
      waiter?.();
    },
    next: () =>
      new Promise<void>((resolve, reject) => {
        const done = () => {
          pending = false;
          waiter = undefined;
          signal.removeEventListener("abort", stop);
          resolve();
        };
        const stop = () => reject(signal.reason);
        if (signal.aborted) return stop();
        signal.addEventListener("abort", stop, { once: true });
        if (pending) done();
        else waiter = done;
      }),
  };
}

/**
 * Turns: the first at once, and another after each wake-up. Throws the signal's reason.
 * @param watch begins to watch for what wakes, until its signal is aborted: when the turns are no
 * longer taken, or the signal is
 */
export async function* turns(signal: AbortSignal, watch: (wake: () => void, until: AbortSignal) => void): AsyncGenerator<void, void, void> {
  const { next, wake } = createWakeup(signal);
  const ended = new AbortController();
  watch(wake, AbortSignal.any([signal, ended.signal]));
  try {
    for (;;) {
      yield;
      await next();
    }
  } finally {
    ended.abort();
  }
}
