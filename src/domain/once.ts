/** A part that is made when it is first wanted. */

/** Gives the part; the first call makes it, and the next one again when that failed. Calls that come together wait for one making. */
export interface Once<T> {
  (): Promise<T>;
  /** The part if it was made or is being made, without making it; undefined when nobody wanted it or it failed. */
  opened(): Promise<T | undefined>;
}

/** Makes a part on demand. */
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
