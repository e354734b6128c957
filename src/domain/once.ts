/** Values that are made on first use. */

/**
 * A function that gives the value: the first call makes it, and the next call makes it again when
 * that failed. Concurrent calls wait for the same value.
 */
export interface Once<T> {
  (): Promise<T>;
  /**
   * The value if it was made or is being made, without making it; undefined when it was never
   * requested or could not be made.
   */
  opened(): Promise<T | undefined>;
  /**
   * Has no value made from now on: requests reject where there is none. A value that was made, or
   * is being made, goes to `end` first. Rejects with what `end` throws.
   */
  close(end?: (value: T) => unknown): Promise<void>;
}

/** The value that `make` gives, made on first use. */
export function once<T>(make: () => Promise<T>): Once<T> {
  let made: Promise<T> | undefined;
  let isClosed = false;
  const get = (): Promise<T> => {
    if (made) return made;
    if (isClosed) return Promise.reject(new Error("it is closed, and was not in use before"));
    const making = make();
    made = making;
    making.catch(() => {
      if (made === making) made = undefined;
    });
    return making;
  };
  const opened = async (): Promise<T | undefined> => made?.catch(() => undefined);
  return Object.assign(get, {
    opened,
    async close(end?: (value: T) => unknown) {
      isClosed = true;
      const value = await opened();
      if (value !== undefined) await end?.(value);
    },
  });
}
