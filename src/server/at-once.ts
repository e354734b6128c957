/**
 * What `next` makes of a value: at once when the value is there, else a promise of it. Awaiting
 * costs a turn even where nothing has to be waited for. What `next` throws is thrown, or the
 * promise rejects with it.
 */
export function whenThere<A, B>(given: A | Promise<A>, next: (given: A) => B | Promise<B>): B | Promise<B> {
  return given instanceof Promise ? given.then(next) : next(given);
}
