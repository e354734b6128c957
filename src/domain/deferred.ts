/** Proxies of objects that are made on first use. */

import { once } from "./once.ts";

/** An object all of whose members are functions that return promises. */
type Asynchronous<T> = { readonly [K in keyof T]: (...args: never[]) => Promise<unknown> };

/**
 * A proxy of an object whose members all return promises: the object is made when one of them is
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
