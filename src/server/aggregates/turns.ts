/**
 * Does one thing after another. Of kept aggregates those: what tells that tiles are whole, and what
 * removes tiles, as a time that is told as filled while its tiles go would have windows without
 * their rows.
 */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Makes it: each begins when all that came before have ended, whatever became of them. */
export function createTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}
