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
