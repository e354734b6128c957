/** Stand-ins for what is made on first use. */

import { once } from "./once.ts";

/** A thing all of whose members are functions that return promises. */
type Asynchronous<T> = { readonly [K in keyof T]: (...args: never[]) => Promise<unknown> };

/**
 * A stand-in for a thing whose members all return promises: the thing is made when one of them is
 * first called, and each call is passed on to it.
 */
export function deferred<T extends Asynchronous<T>>(make: () => Promise<T>): T {
  const made = once(make);
  return new Proxy({} as T, {
    get(_, name) {
      if (name === "then" || typeof name === "symbol") return undefined;
      return async (...args: never[]) => (await made())[name as keyof T](...args);
    },
  });
}
