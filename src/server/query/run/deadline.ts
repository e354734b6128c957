/** Calls that must end in time. */

/** The error of a call that overran its time. */
export class Overran extends Error {
  override readonly name = "Overran";
  constructor(readonly limitMs: number) {
    super(`did not finish within ${limitMs} ms`);
  }
}

/** Waits for work that cannot be cancelled, at most `limitMs`; rejects with Overran then. */
export function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Overran(limitMs)), limitMs);
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/**
 * Waits for a call, at most `limitMs`. The call is handed a signal that is aborted when time is up
 * or the caller goes away; the promise then rejects at once, with Overran or the caller's reason,
 * whether the call heeds the signal or not.
 */
export function withDeadline<T>(limitMs: number, caller: AbortSignal | undefined, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const leave = () => stop(caller?.reason);
    const done = () => {
      clearTimeout(timer);
      caller?.removeEventListener("abort", leave);
    };
    const stop = (reason: unknown) => {
      done();
      reject(reason);
      controller.abort(reason);
    };
    const timer = setTimeout(() => stop(new Overran(limitMs)), limitMs);
    if (caller?.aborted) return leave();
    caller?.addEventListener("abort", leave, { once: true });
    Promise.try(start, controller.signal).then(
      (value) => {
        done();
        resolve(value);
      },
      (error: unknown) => {
        done();
        reject(error);
      },
    );
  });
}
