/** Goes on with what is there at once, without the turn of the event loop that awaiting costs, or when it comes. */
export function whenThere<A, B>(given: A | Promise<A>, next: (given: A) => B | Promise<B>): B | Promise<B> {
  return given instanceof Promise ? given.then(next) : next(given);
}
