/** What is made on first use. */

/** A function that makes a thing at its first call and gives that one ever after; a failure is kept too. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** A thing all of whose members are functions that return promises. */
type Asynchronous<T> = { readonly [K in keyof T]: (...args: never[]) => Promise<unknown> };

/** A stand-in for a thing whose members all return promises: the thing is made when one of them is first called, and each call is passed on to it. */
export function deferred<T extends Asynchronous<T>>(make: () => Promise<T>): T {
  const made = once(make);
  return new Proxy({} as T, {
    get(_, name) {
      if (name === "then" || typeof name === "symbol") return undefined;
      return async (...args: never[]) => (await made())[name as keyof T](...args);
    },
  });
}
