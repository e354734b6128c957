/** Results that are synchronous where nothing has to be awaited. */

/**
 * A value, or the promise of one. Without a promise nothing is awaited, which a query that computes
 * nothing notices.
 */
export type Awaitable<T> = T | Promise<T>;

/** Whether a result has to be awaited. */
export function isPending<T>(result: Awaitable<T>): result is Promise<T> {
  return result instanceof Promise;
}

/**
 * The result of a function of a result: synchronous when that is, else a promise. Rejections are
 * passed on.
 */
export function andThen<T, R>(result: Awaitable<T>, make: (value: T) => Awaitable<R>): Awaitable<R> {
  return isPending(result) ? result.then(make) : make(result);
}

/** The result of some work; what it throws, or rejects with, is turned into a result too. */
export function recovered<T>(work: () => Awaitable<T>, recover: (error: unknown) => T): Awaitable<T> {
  try {
    const result = work();
    return isPending(result) ? result.catch(recover) : result;
  } catch (error) {
    return recover(error);
  }
}
