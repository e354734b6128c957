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
}

/** The value that `make` gives, made on first use. */
export function once<T>(make: () => Promise<T>): Once<T> {
  let made: Promise<T> | undefined;
  const get = (): Promise<T> => {
    if (made) return made;
    const making = make();
    made = making;
    making.catch(() => {
      if (made === making) made = undefined;
    });
    return making;
  };
  return Object.assign(get, { opened: async () => made?.catch(() => undefined) });
}
